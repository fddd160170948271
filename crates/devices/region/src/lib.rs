//! Declared memory, and how bytes move between two processes of a node.
//!
//! This crate knows nothing of MPI. Runtimes of any kind can use it to move data between processes
//! on one Linux machine in one copy, without a kernel module, and without special rights: where the
//! kernel refuses direct access to another process's memory, two copies do it.
//!
//! # The node's file
//!
//! All processes share one file in memory (a memfd), which is large and sparse. Memory that lies in it
//! has the same name everywhere, its offset ([`Place`]), so that no descriptors need to be passed.
//!
//! - [`Heap`]: a process's own part of the file, from which it allocates
//! - [`Views`]: the parts of others, mapped on first use
//! - [`cma`]: private memory of others, by system call
//! - [`module`]: private memory of others that they have declared, by the kernel module where that is installed
//! - [`dma`]: copies within this process's addresses by an engine (Intel DSA), which a space uses for asynchronous ones
//! - [`Space`]: declared regions with everything above behind one interface
//!
//! # A space
//!
//! Each process joins a [`Space`] over the file under a number of its own. It declares memory, a list
//! of segments, as a *region*, and gives the region's [`Cookie`](space::Cookie) to others as a
//! plain number. Whoever has it may copy from or into any part of the region, as the owner has allowed,
//! many times or once; between a region and its own memory, or between two regions of which neither is
//! its own; and wait for it, or not.
//!
//! The example has both processes in one program. Usually the descriptor is inherited or comes over a
//! socket, and so does the cookie.
//!
//! ```
//! use std::os::fd::OwnedFd;
//! use tern_region::Run;
//! use tern_region::space::{Cookie, Direction, Error, Flags, Offload, Options, Protection, Shape, Space};
//!
//! # fn new_file() -> std::io::Result<OwnedFd> {
//! #     Ok(rustix::fs::memfd_create("example", rustix::fs::MemfdFlags::CLOEXEC)?)
//! # }
//! # fn main() -> Result<(), Error> {
//! let file: OwnedFd = new_file()?; // memfd_create
//! let shape = Shape { members: 2, span: 1 << 30 };
//! // The kernel may not permit Bob to read Alice's memory; then a thread of hers answers him.
//! let alice = Space::join(file.try_clone()?, 0, shape, 0, Options { server: true, ..Options::default() })?;
//! let bob = Space::join(file, 0, shape, 1, Options::default())?;
//!
//! // Alice declares two pieces of a table, for reading: 8 bytes here, 4 bytes there.
//! let table = *b"first...----last";
//! let segments = [Run::new(&table[0], 8), Run::new(&table[12], 4)];
//! // SAFETY: the table stays as it is until the region is destroyed.
//! let region = unsafe { alice.create_region(&segments, Protection::Read, Flags::NONE)? };
//! let message: u64 = region.to_bits();
//!
//! // Bob gets the number, and copies 6 bytes from byte 6 on to where he wants them.
//! let region = Cookie::from_bits(message).ok_or(Error::NoRegion)?;
//! let mut buffer = [b' '; 6];
//! let local = [Run::new(buffer.as_mut_ptr(), 6)];
//! // SAFETY: the buffer is Bob's own, and nobody else uses it.
//! unsafe { bob.inline_copy(&local, region.at(6), 6, Direction::Read)? };
//! assert_eq!(&buffer, b"..last");
//!
//! // The same without waiting.
//! // SAFETY: as before, until the copy is over.
//! let status = unsafe { bob.start_inline_copy(&local, region.at(0), 5, Direction::Read, Offload::WhenIdle)? };
//! // ... Bob does something else ...
//! bob.wait(&status)?;
//! assert_eq!(&buffer[..5], b"first");
//!
//! // What Alice has not allowed is an error, and moves nothing.
//! // SAFETY: as before.
//! let refused = unsafe { bob.inline_copy(&local, region.at(0), 6, Direction::Write) };
//! assert_eq!(refused, Err(Error::Protection));
//!
//! // From here on nobody touches the table any more.
//! alice.destroy_region(region)?;
//! // SAFETY: as before.
//! let gone = unsafe { bob.inline_copy(&local, region.at(0), 6, Direction::Read) };
//! assert_eq!(gone, Err(Error::NoRegion));
//! # Ok(())
//! # }
//! ```
//!
//! # How bytes move
//!
//! See [`Mechanism`](space::Mechanism): mapped memory, the kernel module, cross memory attach, or two copies through shared
//! cells, whichever is the first that works for those bytes. That it works is proved with a real
//! transfer, for each pair of processes, when it is first needed. A mechanism that begins to fail is
//! left, with one line on the standard error that says why, and the copy goes on with the next.
//!
//! # What a process may rely on
//!
//! - After [`Space::destroy_region`] nobody touches the memory.
//! - A process that is killed harms nobody: others get [`PeerGone`](space::Error::PeerGone), or, for
//!   shared memory, what it has left there. Its uses of regions end with it.
//! - The processes of a space trust each other: one that writes nonsense into the shared file can
//!   harm the others.

#![warn(missing_docs)]
// The model checker builds the structures in shared memory without what is around them.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

pub mod cma;
#[cfg(not(loom))]
pub mod dma;
mod file;
mod fork;
pub mod heap;
mod host;
pub mod module;
mod node_file;
mod offsets;
pub mod promote;
mod quiet;
mod room;
mod slack;
pub mod space;
pub mod view;

pub use cma::Run;
pub use file::extend;
pub use heap::{Heap, Place};
pub use host::has_one_thread;
pub use promote::Promoter;
#[cfg(not(loom))]
pub use space::Space;
pub use view::Views;
