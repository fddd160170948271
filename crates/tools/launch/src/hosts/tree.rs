//! Agents that start further agents, where there are many hosts: one mpiexec would start them one after the other.
//!
//! An agent with others below it is two processes: one serves its ranks; the other one, the *branch*, is the parent of
//! the commands that start the agents below, and passes their output on. Every agent calls mpiexec by itself, so what a
//! branch does has no part in how a job ends. A branch tells mpiexec of commands that have ended.

use std::collections::HashMap;
use std::fs::File;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::WaitOptions;
use tern_pmi::Secret;

use super::relay::relay;
use super::starter::{Method, Start};
use crate::signals;
use crate::uplink::{Line, Up, call};

/// How much longer than their ranks agents may take to end.
pub const MORE: Duration = Duration::from_secs(3);
/// Hosts up to which mpiexec starts all agents by itself.
const FLAT: usize = 32;
/// How many agents each process starts where there are more.
const WIDTH: usize = 16;
/// In the number by which a branch calls.
pub const BRANCH: u32 = 1 << 31;

/// The agents that an agent has to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// How: see [`Method::word`].
    pub method: String,
    /// Their numbers and hosts.
    pub hosts: Vec<(u32, String)>,
    /// Where they call.
    pub callers: String,
    /// What comes from them has marks, and is passed on in whole lines.
    pub piped: bool,
}

/// Divides agents: those that are started first, and those that each of them has to start.
pub fn divide(numbers: &[u32]) -> (Vec<u32>, HashMap<u32, Vec<u32>>) {
    if numbers.len() <= FLAT {
        return (numbers.to_vec(), HashMap::new());
    }
    let mut below = HashMap::new();
    let mut first = Vec::new();
    for chunk in numbers.chunks(numbers.len().div_ceil(WIDTH)) {
        first.push(chunk[0]);
        let (next, further) = divide(&chunk[1..]);
        below.extend(further);
        if !next.is_empty() {
            below.insert(chunk[0], next);
        }
    }
    (first, below)
}

/// Splits an agent that has others below it. Gives the exit code in the process that has become the branch, when all
/// that it has started has ended; nothing in the one that serves the ranks. This process must have one thread.
pub fn branch(below: &Below, secret: Secret, number: u32, line: Line) -> Result<Line, i32> {
    // Whole lines of several processes, if they have marks, so one of them has to write all.
    let pipes = || Some((pipe_with(PipeFlags::CLOEXEC).ok()?, pipe_with(PipeFlags::CLOEXEC).ok()?));
    let pipes = if below.piped { pipes() } else { None };
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => {
            crate::say::say(&format!("cannot start a process: {}", std::io::Error::last_os_error()));
            Err(1)
        }
        0 => {
            // mpiexec hears of the end of this process, and not of its parent's.
            let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
            if let Some(((_, out), (_, err))) = pipes {
                let _ = rustix::stdio::dup2_stdout(out).and_then(|()| rustix::stdio::dup2_stderr(err));
            }
            Ok(line)
        }
        server => {
            // It ends with the process that serves.
            drop(line);
            let own = pipes.map(|((out, _), (err, _))| (File::from(out), File::from(err)));
            Err(run(below, secret, number, server, own))
        }
    }
}

fn run(below: &Below, secret: Secret, number: u32, server: libc::pid_t, own: Option<(File, File)>) -> i32 {
    let mut relays = Vec::new();
    if let Some((out, err)) = own {
        relays.extend([relay(out, std::io::stdout()), relay(err, std::io::stderr())]);
    }
    let root = call(&below.callers, secret, number | BRANCH).ok().map(Arc::new);
    if let Some(root) = &root {
        root.prepare();
    }
    // If nobody hears it, mpiexec has gone, and so does all that is below.
    let tell = |starts: &[u32], text: String| {
        for number in starts {
            let _ = root.as_ref().map(|root| Up::Ended { number: *number, text: text.clone() }.send(root));
        }
    };
    let (Some(method), Ok(mpiexec)) = (Method::of_word(&below.method), std::env::current_exe()) else { return 1 };
    let mut children: Vec<(Start, Child)> = Vec::new();
    for start in method.starts(&mpiexec.into_os_string(), &below.callers, &below.hosts) {
        match start.run(&secret, below.piped, signals::current()) {
            Ok(mut child) => {
                drop(child.stdin.take());
                relays.extend(child.stdout.take().map(|from| relay(from, std::io::stdout())));
                relays.extend(child.stderr.take().map(|from| relay(from, std::io::stderr())));
                children.push((start, child));
            }
            Err(error) => tell(&start.numbers, format!("'{}': {error}", start.shown())),
        }
    }
    let pids = children.iter().map(|(_, child)| child.id() as i32).collect();
    let alive = Arc::new(Mutex::new(pids));
    if let Some(root) = root.clone() {
        let alive = alive.clone();
        std::thread::spawn(move || end_with(&root, &alive));
    }
    let mut code = 1;
    while let Ok(Some((pid, status))) = rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty())) {
        let pid = pid.as_raw_pid();
        alive.lock().expect("no panic").retain(|one| *one != pid);
        if pid == server {
            code = status.exit_status().unwrap_or(1);
        }
        if let Some((start, _)) = children.iter().find(|(_, child)| child.id() as i32 == pid) {
            let how = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or(0)),
            };
            tell(&start.numbers, format!("'{}' ended with {how}", start.shown()));
        }
    }
    relays.into_iter().for_each(|relay| _ = relay.join());
    code
}

/// Ends a command that has not ended a while after mpiexec has: its host does not answer, so nothing else would end it.
fn end_with(root: &Line, alive: &Mutex<Vec<i32>>) {
    // Nothing is sent this way.
    let _ = root.receive(None);
    std::thread::sleep(tern_settings::GRACE.get() + MORE);
    for pid in alive.lock().expect("no panic").iter() {
        // SAFETY: a system call on numbers; the group is that of a child that has not been found to have ended.
        unsafe { libc::kill(-pid, libc::SIGKILL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_started_once_and_nobody_starts_many() {
        for count in [0, 1, 31, 32, 33, 64, 100, 1000, 5000] {
            let numbers: Vec<u32> = (0..count).collect();
            let (first, below) = divide(&numbers);
            assert!(first.len() <= FLAT && below.values().all(|next| next.len() <= FLAT), "{count}");
            assert_eq!(below.is_empty(), count as usize <= FLAT, "{count}");
            let mut started: Vec<u32> = first.iter().chain(below.values().flatten()).copied().collect();
            started.sort_unstable();
            assert_eq!(started, numbers, "{count}");
            // From the first ones all can be reached.
            let mut reached = first;
            let mut at = 0;
            while at < reached.len() {
                reached.extend(below.get(&reached[at]).into_iter().flatten());
                at += 1;
            }
            assert_eq!(reached.len(), count as usize);
        }
    }
}
