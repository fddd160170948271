//! The length of the node's shared file.

use rustix::fd::BorrowedFd;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::process::Resource;
use rustix::{fs, process};
use std::io;

/// Gives pages back: the range of a file reads as zeros afterwards, in every mapping of it.
pub(crate) fn punch(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    Ok(fs::fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len)?)
}

/// Makes sure that a file in memory is at least `least` bytes long, and `wish` if it may be; both
/// are multiples of the page. Nothing else changes, but that the new last page takes memory. Many
/// processes may do this at once, for it never makes a file shorter, as ftruncate in two processes may.
/// Returns the new end, if it was not long enough before.
///
/// Errors: EFBIG when this process may not make files of `least` bytes (RLIMIT_FSIZE; the signal
/// that the kernel would send is avoided), others of fallocate. Where fallocate itself is refused, the error says so.
pub fn extend(file: BorrowedFd<'_>, least: u64, wish: u64) -> io::Result<Option<u64>> {
    let page = rustix::param::page_size() as u64;
    let size = fs::fstat(file)?.st_size as u64;
    if size >= least {
        return Ok(None);
    }
    let limit = process::getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    // Offsets are signed in the kernel.
    let limit = limit.min(i64::MAX as u64) / page * page;
    let end = wish.max(least).min(limit);
    if end < least {
        return Err(Errno::FBIG.into());
    }
    // Unlike ftruncate this cannot shorten what another process has just made longer. The page stays,
    // since somebody may use it already.
    fs::fallocate(file, FallocateFlags::empty(), end - page, page).map_err(told)?;
    Ok(Some(end))
}

fn told(errno: Errno) -> io::Error {
    let plain = io::Error::from(errno);
    match errno {
        Errno::PERM | Errno::ACCESS | Errno::NOSYS => {
            let remedy = "the kernel, or the filter of a container (seccomp), refuses this call: allow it there";
            io::Error::new(plain.kind(), format!("fallocate: {errno}; {remedy}"))
        }
        _ => plain,
    }
}
