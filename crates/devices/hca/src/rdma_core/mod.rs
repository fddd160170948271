//! The maker that uses rdma-core: cards, and the kernel's soft ones, through libibverbs, which is loaded when the
//! first HCA of this kind is opened.
//!
//! Each type here stands behind the public type of the same name, and holds what it was made from, so that
//! things end in the order that verbs asks for. What a child of a fork holds is its parent's: it is neither
//! used nor destroyed there.

mod address;
mod completion;
mod context;
mod datagrams;
mod ffi;
mod hca;
mod memory;
mod post;
mod queue_pair;
mod receive_queue;

pub use completion::{CompletionChannel, CompletionQueue};
pub use datagrams::Datagrams;
pub use hca::Hca;
pub use memory::{MemoryRegion, ProtectionDomain};
pub use queue_pair::QueuePair;
pub use receive_queue::{SharedReceiveQueue, XrcDomain};

use crate::{Error, Result};
use std::io;

/// What a call that gives an error number has given.
fn check(number: i32, what: impl FnOnce() -> String) -> Result<()> {
    match number {
        0 => Ok(()),
        // Some drivers give -1 and set errno, or a negative number.
        -1 => Err(refused(what, io::Error::last_os_error())),
        number => Err(refused(what, io::Error::from_raw_os_error(number.abs()))),
    }
}

/// What a call that makes something has given.
fn made<T>(pointer: *mut T, what: impl FnOnce() -> String) -> Result<*mut T> {
    if pointer.is_null() { Err(refused(what, io::Error::last_os_error())) } else { Ok(pointer) }
}

fn refused(what: impl FnOnce() -> String, why: io::Error) -> Error {
    let text = format!("{}: {why}", what());
    match why.raw_os_error() {
        Some(libc::ENOMEM | libc::ENOSPC | libc::EAGAIN | libc::EMFILE | libc::ENFILE) => Error::Resources(text),
        Some(libc::EINVAL) => Error::Invalid(text),
        Some(libc::EOPNOTSUPP | libc::ENOSYS) => Error::Unsupported(text),
        _ => Error::System(text),
    }
}
