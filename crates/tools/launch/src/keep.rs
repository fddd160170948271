//! mpiexec as a keeper: serves the ranks of one node that another launcher has started, or is what the keepers of
//! several nodes have in common. See `tern_pmi::foreign`.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use tern_pmi::foreign::{Begin, Role};

use crate::{guard, hosts, job, signals};

/// Serves the process that `args` name: the number of the socket to it. Returns at once in the process that it has
/// started; what serves goes on in the background.
pub fn run(args: &[OsString]) -> i32 {
    let Some(socket) = args.first().and_then(|arg| arg.to_str()?.parse().ok()).and_then(inherited) else {
        crate::say::say("--keep is for Tern's own use");
        return crate::program::USAGE;
    };
    if let Some(code) = detach(&socket) {
        return code;
    }
    let Ok(begin) = Begin::receive(&socket) else { return 1 };
    let mask = signals::block();
    match begin.role {
        Role::Node(node) => guard::run(move |guard| job::keep(&begin, node, mask, guard, socket)),
        Role::Root => hosts::root(&begin, socket),
    }
}

/// Goes to the background: a session of its own, so that what is for the ranks' group does not reach it, and no
/// descriptor but the standard ones and `kept`: launchers wait for the end of what they have left open in a rank. The
/// exit code, for the process that has been started.
pub fn detach(kept: &OwnedFd) -> Option<i32> {
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => return Some(1),
        0 => {}
        _ => return Some(0),
    }
    crate::say::UNNAMED.store(true, Ordering::Relaxed);
    let _ = rustix::process::setsid();
    let number = kept.as_raw_fd() as u32;
    // SAFETY: nothing in this process uses any of these descriptors; older kernels do not know the call, and then
    // they stay open.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3u32, number - 1, 0u32);
        libc::syscall(libc::SYS_close_range, number + 1, u32::MAX, 0u32);
    }
    None
}

/// Takes over the descriptor of that number, if it is open; the copy is number 4 or above.
pub fn inherited(number: i32) -> Option<OwnedFd> {
    if number < 3 {
        return None;
    }
    // SAFETY: the number may be closed, which the call answers with EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let copy = rustix::io::fcntl_dupfd_cloexec(borrowed, 4).ok()?;
    // SAFETY: it was inherited for this call to take, and nothing else uses it.
    drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(number) });
    Some(copy)
}
