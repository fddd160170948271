//! Everything that a process has started, at any depth.
//!
//! The launcher is the "child subreaper" of its descendants: a process whose parent ends becomes
//! its child, so none gets out of sight, whatever group or session it has moved to.

use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, WaitStatus};

/// Makes this process the parent of descendants whose own parent ends.
pub fn adopt() {
    // Without it (an older kernel) only such orphans escape; there is nothing else to do.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// The numbers of all living descendants of this process.
pub fn all() -> Vec<libc::pid_t> {
    let mut parents: Vec<(libc::pid_t, libc::pid_t)> = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent(pid) {
            parents.push((pid, parent));
        }
    }
    let mut found = vec![rustix::process::getpid().as_raw_pid()];
    let mut at = 0;
    while at < found.len() {
        let children = parents.iter().filter(|(_, parent)| *parent == found[at]);
        found.extend(children.map(|(pid, _)| *pid).collect::<Vec<_>>());
        at += 1;
    }
    found.split_off(1)
}

/// The name of a process.
pub fn name(pid: libc::pid_t) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// The parent of a process.
pub fn parent(pid: libc::pid_t) -> Option<libc::pid_t> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // pid (name) state ppid …; the name may hold anything, also parentheses.
    let mut words = stat[stat.rfind(')')? + 1..].split_whitespace();
    words.nth(1)?.parse().ok()
}

/// Whether a process lives and has not begun to end.
pub fn is_running(pid: libc::pid_t) -> bool {
    /// Of the kernel's flags of a task: it ends.
    const EXITING: u64 = 4;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name: state ppid pgrp session tty tpgid flags …
    let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let flags = words.get(6).and_then(|flags| flags.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & EXITING == 0) && !matches!(words.first(), Some(&"Z" | &"X"))
}

/// Sends a signal to all descendants.
pub fn signal(number: libc::c_int) {
    for pid in all() {
        crate::signals::send(pid, number);
    }
}

/// Reaps one child that has ended, if there is one. An error if there are no children at
/// all.
pub fn reap() -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::NOHANG))
}

/// Ends whatever is left: SIGTERM, and SIGKILL after `grace`. Returns when no child is left; gives
/// up after ten seconds more, with the processes that do not die.
pub fn end_all(grace: Duration) -> Vec<libc::pid_t> {
    let start = Instant::now();
    let mut told: Vec<libc::pid_t> = Vec::new();
    let mut pause = Duration::from_micros(200);
    loop {
        loop {
            match reap() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return Vec::new(),
            }
        }
        let waited = start.elapsed();
        if waited >= grace {
            signal(libc::SIGKILL);
        } else {
            // Those that were started since the last look come too.
            for pid in all().into_iter().filter(|pid| !told.contains(pid)).collect::<Vec<_>>() {
                crate::signals::send(pid, libc::SIGTERM);
                // A stopped process takes SIGTERM only once it goes on.
                crate::signals::send(pid, libc::SIGCONT);
                told.push(pid);
            }
        }
        if waited > grace + Duration::from_secs(10) {
            return all();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
