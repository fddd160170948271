//! Files that no other user can have prepared.
//!
//! Tern keeps files for itself in a [`Private`] directory: one that belongs to this process's user, and that nobody else
//! writes. Directory and files are held by descriptors, no symbolic link is followed at their names, and the owner of
//! each is looked at. So an attacker who owns a folder above can hide the directory, and do no more.
//!
//! Files that the user names ([`create`], [`read`]) lie where the user wants. There, links and files that another user
//! has put into a folder that several users write are refused, as the kernel does it where fs.protected_symlinks and
//! fs.protected_regular are set.

mod named;
mod private;
mod put;
#[cfg(test)]
mod scratch;

pub use named::{create, read, read_own, replace};
pub use private::Private;

use rustix::fs::{Mode, Stat};
use std::io;

/// Permission of others to write.
const OTHERS_WRITE: u32 = 0o022;

/// The error of a file or directory that is not trusted.
fn distrust(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether others than its owner may write it.
fn others_write(status: &Stat) -> bool {
    Mode::from_raw_mode(status.st_mode).bits() & OTHERS_WRITE != 0
}

/// A number for a name that nothing has yet; the caller insists on that by O_EXCL.
fn number() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: a number that no other call has, nothing else.
    RandomState::new().hash_one((std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}
