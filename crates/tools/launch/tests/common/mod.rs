//! Runs mpiexec and looks for what it leaves behind.

#![allow(dead_code)] // Each test program uses a part of this.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What a run of mpiexec gave.
#[derive(Debug)]
pub struct Run {
    /// Its exit code; none if a signal killed it.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// A job whose processes can be told from all others by a variable in their environment.
pub struct Job {
    mark: String,
    command: Command,
}

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

impl Job {
    /// `mpiexec` with these arguments, and an empty standard input.
    pub fn new(args: &[&str]) -> Job {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("TERN_TEST_MARK={}-{number}", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_mpiexec"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (name, value) = mark.split_once('=').unwrap();
        command.env(name, value).env_remove("TERN_LAUNCH");
        // Measuring costs would start processes of its own.
        command.env("TERN_COSTS", "default");
        Job { mark, command }
    }

    /// To set environment, standard input and so on.
    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> Job {
        change(&mut self.command);
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let child = self.command.spawn().unwrap();
        Running { mark: self.mark, child }
    }

    /// Starts it, waits, and checks that nothing is left.
    pub fn run(self) -> Run {
        self.start().end()
    }
}

/// A job that was started.
pub struct Running {
    mark: String,
    pub child: Child,
}

impl Running {
    /// The process that was started: the front one of the two of mpiexec.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The process that serves the job: the one child of the front one.
    pub fn server(&self) -> i32 {
        let own = self.pid();
        until("the server is there", || {
            pids().into_iter().find(|pid| stat(*pid).is_some_and(|(_, _, parent)| parent == own))
        })
    }

    /// All processes of this job that live, zombies left out.
    pub fn alive(&self) -> Vec<i32> {
        let mark = self.mark.as_bytes();
        let marked = |pid: &i32| {
            let env = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            env.split(|byte| *byte == 0).any(|entry| entry == mark)
                && stat(*pid).is_some_and(|(_, state, _)| state != 'Z')
        };
        pids().into_iter().filter(marked).collect()
    }

    /// The processes of this job whose name is `name`.
    pub fn named(&self, name: &str) -> Vec<i32> {
        let is = |pid: &i32| stat(*pid).is_some_and(|(known, _, _)| known == name);
        self.alive().into_iter().filter(is).collect()
    }

    /// Waits until that many processes of this name run.
    pub fn wait_for(&self, name: &str, count: usize) -> Vec<i32> {
        until(&format!("{count} processes {name} run"), || Some(self.named(name)).filter(|found| found.len() == count))
    }

    /// Waits until no process of the job is left.
    pub fn wait_for_nobody(&self) {
        until("no process is left", || self.alive().is_empty().then_some(()));
    }

    /// Waits for the end, and checks that at that moment no process is left.
    pub fn end(mut self) -> Run {
        let mut streams = (self.child.stdout.take(), self.child.stderr.take());
        let out = std::thread::spawn(move || text(streams.0.as_mut()));
        let err = std::thread::spawn(move || text(streams.1.as_mut()));
        let status = until("mpiexec ends", || self.child.try_wait().unwrap());
        let left = self.alive();
        assert!(left.is_empty(), "left behind: {left:?}");
        Run { code: status.code(), out: out.join().unwrap(), err: err.join().unwrap() }
    }
}

impl Run {
    /// The lines of the output, sorted, for ranks may come in any order.
    pub fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for pid in self.alive() {
            send(pid, 9);
        }
        let _ = self.child.wait();
    }
}

fn text(stream: Option<&mut impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.read_to_end(&mut bytes).unwrap();
    }
    String::from_utf8(bytes).unwrap()
}

/// Tries again and again until there is an answer; fails the test if there is none for long.
pub fn until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Name, state and parent of a process.
pub fn stat(pid: i32) -> Option<(String, char, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (before, after) = text.rsplit_once(')')?;
    let mut words = after.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((before.split_once('(')?.1.to_owned(), state, words.next()?.parse().ok()?))
}

/// Sends a signal.
pub fn send(pid: i32, signal: i32) {
    // SAFETY: a system call without memory.
    unsafe { libc::kill(pid, signal) };
}

/// `mpiexec` with these arguments.
pub fn mpiexec(args: &[&str]) -> Run {
    Job::new(args).run()
}
