//! Atomics of memory that processes share: the machine's, those of loom's model checker, or those of a machine that is made up.
//!
//! The cfg `loom` is for the tests of lock-free structures. With the cfg `tern_model` the library can run in virtual time: each access to
//! shared memory asks a server what it costs on a made-up machine, and the process with the smallest clock goes on next ([`wire`]).
//! Without either of them, this is the standard library, and all other functions here are empty.
//!
//! Payloads are plain memory, which no type notices. Whoever reads or writes them says so by [`read`], [`write()`] or [`copied`].

#![warn(missing_docs)]

pub mod wire;

#[cfg(not(any(loom, tern_model)))]
mod machine;
#[cfg(not(any(loom, tern_model)))]
pub use machine::*;

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::yield_now,
};

#[cfg(all(tern_model, not(loom)))]
mod model;
#[cfg(all(tern_model, not(loom)))]
pub use model::*;

#[cfg(not(all(tern_model, not(loom))))]
mod unnoticed;
#[cfg(not(all(tern_model, not(loom))))]
pub use unnoticed::*;
