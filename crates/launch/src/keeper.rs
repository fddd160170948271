//! The process that the user started.
//!
//! The job is served by a child of it (see `job`), which is the parent of the ranks. Each of the
//! two cleans up when the other one dies, so that nothing is left even after SIGKILL: the server
//! sees its pipe from here close; this process adopts and ends what a dead server leaves. Both and
//! the ranks stay in the process group of whoever started mpiexec, so that rank 0 can read the
//! terminal, and keys such as Ctrl-C reach all of them.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::Signal;

use crate::{descendants, signals};

/// Splits the launcher into two processes and runs `serve` in the new one, with a pipe that closes
/// when this one dies. Returns the exit code of the job. Signals must be blocked already.
pub fn run(serve: impl FnOnce(OwnedFd) -> i32) -> rustix::io::Result<i32> {
    descendants::adopt();
    let (alive, keep) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => {
            Err(rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(rustix::io::Errno::NOMEM))
        }
        0 => {
            drop(keep);
            let code = serve(alive);
            std::process::exit(code)
        }
        server => {
            drop(alive);
            let code = watch(server);
            drop(keep);
            Ok(code)
        }
    }
}

/// Passes signals on to the server until it ends; gives its exit code.
fn watch(server: libc::pid_t) -> i32 {
    loop {
        let signal = signals::wait();
        if signal.number == libc::SIGCHLD {
            if let Some(code) = reap(server) {
                return code;
            }
            continue;
        }
        // What a key of the terminal sends, the server and the ranks have too.
        if !signal.from_kernel {
            signals::send(server, signal.number);
        }
        if signal.number == libc::SIGTSTP {
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        }
    }
}

/// Reaps what has ended. The exit code, if the server is among it.
fn reap(server: libc::pid_t) -> Option<i32> {
    while let Ok(Some((pid, status))) = descendants::reap() {
        if pid.as_raw_pid() != server {
            continue;
        }
        if let Some(signal) = status.terminating_signal() {
            crate::say::say(&format!(
                "the process that serves the job was killed by signal {signal}; the job is ended"
            ));
            descendants::end_all(Duration::ZERO);
            return Some(128 + signal);
        }
        return Some(status.exit_status().unwrap_or(1));
    }
    None
}
