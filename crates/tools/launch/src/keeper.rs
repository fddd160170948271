//! The process that the user started.
//!
//! The job is served by a child of it (see `job`), which is the parent of the ranks. Each of the
//! two cleans up when the other one dies, so that nothing is left even after SIGKILL: the server
//! sees its pipe from here close; this process adopts and ends what a dead server leaves. Both and
//! the ranks stay in the process group of whoever started mpiexec, so that rank 0 can read the
//! terminal, and keys such as Ctrl-C reach all of them. Debuggers look at this process (`mpir`).

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use crate::mpir::{self, Shower, Teller};
use crate::signals::{self, Signals};
use crate::{descendants, refused};

/// Splits the launcher into two processes and runs `serve` in the new one, with a pipe that closes
/// when this one dies, and the end of a socket by which it tells its processes to debuggers. Returns the exit code of the job. Signals must be
/// blocked already.
///
/// Errors: a text that names the call that was refused.
pub fn run(serve: impl FnOnce(OwnedFd, Teller) -> i32) -> Result<i32, String> {
    descendants::adopt();
    let code = |error| Errno::from_io_error(&error).unwrap_or(Errno::NOMEM);
    let (teller, shower) = mpir::pair().map_err(|error| refused::told("socketpair", code(error)))?;
    let signals = Signals::new().map_err(|errno| refused::told("signalfd4", errno))?;
    let (alive, keep) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| refused::told("pipe2", errno))?;
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(refused::told("fork", code(std::io::Error::last_os_error()))),
        0 => {
            drop((keep, shower, signals));
            let code = serve(alive, teller);
            std::process::exit(code)
        }
        server => {
            drop((alive, teller));
            let code = watch(server, &signals, shower);
            drop(keep);
            Ok(code)
        }
    }
}

/// Passes signals on to the server until it ends, and shows its processes to debuggers; gives its exit code.
fn watch(server: libc::pid_t, signals: &Signals, shower: Shower) -> i32 {
    let mut shower = Some(shower);
    loop {
        let mut fds = vec![PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
        fds.extend(shower.as_ref().map(|shower| PollFd::from_borrowed_fd(shower.as_fd(), PollFlags::IN)));
        let told = poll(&mut fds, None).is_ok() && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        if told && fds.len() > 1 {
            shower = shower.filter(Shower::show);
        }
        while let Some(signal) = signals.next() {
            if let Some(code) = take(server, signal) {
                return code;
            }
        }
    }
}

/// Takes a signal; the exit code of the server, if it has ended.
fn take(server: libc::pid_t, signal: signals::Signal) -> Option<i32> {
    if signal.number == libc::SIGCHLD {
        return reap(server);
    }
    // What a key of the terminal sends, the server and the ranks have too.
    if !signal.from_kernel {
        signals::send(server, signal.number);
    }
    if signal.number == libc::SIGTSTP {
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
    }
    None
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
