//! Ways to wait, and to notice that a process is gone.

use std::sync::atomic::AtomicU32;

use rustix::io::Errno;

use super::Found;

/// Sleeping on a word of shared memory.
pub fn futex() -> Found {
    let word = AtomicU32::new(1);
    let wait = |operation: libc::c_int| {
        // SAFETY: a live word; it does not hold the value 0, so the call returns at once.
        let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 0, 0usize) };
        if result == 0 {
            return 0;
        }
        // SAFETY: errno of this thread.
        unsafe { *libc::__errno_location() }
    };
    match Errno::from_raw_os_error(wait(libc::FUTEX_WAIT)) {
        Errno::AGAIN => Found::Yes("waiting ranks sleep instead of using their core".into()),
        errno => Found::No(format!("{errno}; waiting ranks can only yield their core")),
    }
}

/// Barriers on behalf of other processes, which make a reader's side free.
pub fn membarrier() -> Found {
    // SAFETY: a system call without memory; it answers with the commands that it knows.
    let known = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
    if known < 0 {
        return Found::No("the kernel does not offer it; nothing depends on it".into());
    }
    let has = |command: libc::c_int| known & libc::c_long::from(command) != 0;
    let commands: Vec<&str> = [
        (libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED, "global expedited"),
        (libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, "private expedited"),
    ]
    .iter()
    .filter(|(command, _)| has(*command))
    .map(|(_, name)| *name)
    .collect();
    Found::Yes(commands.join(", "))
}

/// Descriptors that tell when a process ends.
pub fn pidfd() -> Found {
    let own = rustix::process::getpid();
    match rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty()) {
        Ok(_) => Found::Yes("the end of a rank is noticed at once".into()),
        Err(errno) => Found::No(format!("pidfd_open: {errno}; only mpiexec notices the end of a rank")),
    }
}
