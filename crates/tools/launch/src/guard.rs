//! The process behind a keeper: it ends the ranks if the keeper is killed, for they are no children of either.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};
use tern_pmi::parcel;

use crate::descendants;

/// Splits this process into two and runs `serve` in the new one, with a socket that closes when this one dies. Gives
/// the exit code of `serve`. Signals must be blocked already: this process takes none.
pub fn run(serve: impl FnOnce(OwnedFd) -> i32) -> i32 {
    descendants::adopt();
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let Ok((here, there)) = pair else { return 1 };
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => 1,
        0 => {
            drop(here);
            std::process::exit(serve(there))
        }
        server => {
            drop(there);
            // What it owns is for the other process.
            drop(serve);
            watch(&here, server)
        }
    }
}

/// Tells the guard at the other end of `socket` of a process that it is to end.
pub fn entrust(socket: impl AsFd, pid: libc::pid_t) {
    let watched = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(watched) = watched {
        // Without a guard this process ends as well.
        let _ = parcel::send(socket, None, &[], &[watched.as_fd()]);
    }
}

/// Until the server has ended; its exit code.
fn watch(socket: &OwnedFd, server: libc::pid_t) -> i32 {
    let mut ranks: Vec<OwnedFd> = Vec::new();
    loop {
        let _ = poll(&mut [PollFd::new(socket, PollFlags::IN)], None);
        match parcel::receive(socket) {
            Ok(Some(parcel)) => ranks.extend(parcel.fds),
            Ok(None) => {}
            Err(_) => break,
        }
    }
    let ended = Pid::from_raw(server)
        .and_then(|pid| rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty())).ok().flatten());
    let Some((_, status)) = ended else { return 1 };
    let Some(signal) = status.terminating_signal() else { return status.exit_status().unwrap_or(1) };
    let living = ranks.iter().filter(|rank| pidfd_send_signal(rank, Signal::KILL).is_ok()).count();
    if living > 0 {
        crate::say::say(&format!(
            "the keeper of this node was killed by signal {signal}; its {living} ranks are ended"
        ));
    }
    descendants::end_all(Duration::ZERO);
    128 + signal
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn what_is_entrusted_ends_with_the_server() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("a process");
        let pid = sleeper.id() as libc::pid_t;
        let code = run_in_child(move || {
            run(move |guard| {
                entrust(&guard, pid);
                // SAFETY: this process ends itself.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                0
            })
        });
        assert_eq!(code, 137);
        assert_eq!(sleeper.wait().expect("its end").signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_server_that_ends_leaves_processes_alone() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("a process");
        let pid = sleeper.id() as libc::pid_t;
        let code = run_in_child(move || {
            run(move |guard| {
                entrust(&guard, pid);
                7
            })
        });
        assert_eq!(code, 7);
        assert!(sleeper.try_wait().expect("its state").is_none());
        sleeper.kill().expect("killed");
        sleeper.wait().expect("its end");
    }

    /// The test's process has threads and children of its own.
    fn run_in_child(act: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child allocates, which glibc allows after fork, and ends by _exit.
        match unsafe { libc::fork() } {
            0 => {
                let code = act();
                // SAFETY: ends the process.
                unsafe { libc::_exit(code) }
            }
            child => {
                let mut status = 0;
                // SAFETY: a place for the answer.
                unsafe { libc::waitpid(child, &mut status, 0) };
                libc::WEXITSTATUS(status)
            }
        }
    }
}
