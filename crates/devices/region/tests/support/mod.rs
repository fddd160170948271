//! Tests with real processes: a test starts its own program again for each further member.

#![allow(dead_code, reason = "not every test program uses all of it")]

pub mod calls;

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tern_region::space::{Options, Shape, Space};

/// Where the space begins in the file; before it lies the board.
pub const BASE: u64 = 64 << 10;
/// Nothing takes this long; a test that waits longer has failed.
const LIMIT: Duration = Duration::from_secs(300);
const VARIABLE: &str = "TERN_REGION_TEST_MEMBER";

/// One process of a test.
pub struct Process {
    pub me: u32,
    file: OwnedFd,
    shape: Shape,
    board: &'static [AtomicU64; 512],
    children: Vec<Child>,
}

/// Memory for a space of `members`.
pub fn file() -> OwnedFd {
    let file = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::empty()).expect("memfd_create");
    tern_region::extend(std::os::fd::AsFd::as_fd(&file), BASE, BASE).expect("extend");
    file
}

pub fn shape(members: u32) -> Shape {
    Shape { members, span: 1 << 30 }
}

/// As [`processes`], with the others in a pid namespace of their own, as in a container.
pub fn processes_with_other_pids(name: &str, first: fn(&mut Process), others: &[fn(&mut Process)]) {
    let isolate = ["unshare", "--pid", "--fork", "--kill-child"];
    let possible = Command::new(isolate[0]).args(&isolate[1..]).arg("true").stderr(Stdio::null()).status();
    if std::env::var(VARIABLE).is_err() && !possible.is_ok_and(|status| status.success()) {
        return skip(name, "no right to make a pid namespace, or no unshare");
    }
    run(name, first, others, &isolate);
}

/// Runs a test of this name as member 0, and the `others` as members 1 and on, each in a process
/// of its own.
pub fn processes(name: &str, first: fn(&mut Process), others: &[fn(&mut Process)]) {
    run(name, first, others, &[]);
}

fn run(name: &str, first: fn(&mut Process), others: &[fn(&mut Process)], wrapper: &[&str]) {
    let shape = shape(others.len() as u32 + 1);
    if let Ok(text) = std::env::var(VARIABLE) {
        let (me, fd) = text.split_once(' ').expect("member and descriptor");
        let (me, fd): (u32, i32) = (me.parse().expect("member"), fd.parse().expect("descriptor"));
        // SAFETY: inherited from the first member for this use.
        let mut process = Process::new(me, unsafe { OwnedFd::from_raw_fd(fd) }, shape);
        others[me as usize - 1](&mut process);
        std::process::exit(0);
    }
    let file = file();
    let number = file.as_raw_fd();
    let mut process = Process::new(0, file, shape);
    for member in 1..shape.members {
        let program = std::env::current_exe().expect("own program");
        let mut words = wrapper.iter().map(|word| (*word).into()).chain([program.into_os_string()]);
        let child = Command::new(words.next().expect("a program"))
            .args(words)
            .args([name, "--exact", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, format!("{member} {number}"))
            .env_remove("TERN_LOG")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        process.children.push(child.expect("a process"));
    }
    first(&mut process);
    for child in std::mem::take(&mut process.children) {
        assert_eq!(end(child).0, Some(0), "a process has failed");
    }
}

/// Exit code, if it was not killed, and standard error, which is shown too.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    let _ = child.stderr.take().expect("piped").read_to_string(&mut text);
    eprint!("{text}");
    for line in text.lines().filter(|line| line.contains(": skipped: ")) {
        let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
    }
    (child.wait().expect("wait").code(), text)
}

impl Process {
    fn new(me: u32, file: OwnedFd, shape: Shape) -> Process {
        let (protection, flags) =
            (rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE, rustix::mm::MapFlags::SHARED);
        // SAFETY: a new mapping of the file's first page, which stays.
        let board = unsafe {
            let at = rustix::mm::mmap(std::ptr::null_mut(), 4096, protection, flags, &file, 0).expect("mmap");
            &*at.cast()
        };
        Process { me, file, shape, board, children: Vec::new() }
    }

    pub fn join(&self, options: Options) -> Space {
        self.join_as(self.me, options).expect("a place in the space")
    }

    pub fn join_as(&self, member: u32, options: Options) -> Result<Space, tern_region::space::Error> {
        Space::join(self.file.try_clone().expect("dup"), BASE, self.shape, member, options)
    }

    /// Writes a number, not 0, on the board.
    pub fn post(&self, index: usize, value: u64) {
        assert_ne!(value, 0);
        // Release: pairs with the acquire in `look`.
        self.board[index].store(value, Ordering::Release);
    }

    /// What is on the board, 0 for nothing.
    pub fn look(&self, index: usize) -> u64 {
        // Acquire: pairs with the release in `post`.
        self.board[index].load(Ordering::Acquire)
    }

    /// Waits for a number on the board.
    pub fn await_post(&mut self, index: usize) -> u64 {
        self.until(|process| Some(process.look(index)).filter(|value| *value != 0))
    }

    /// Waits while it answers peers.
    pub fn serve_until_post(&mut self, space: &Space, index: usize) -> u64 {
        self.until(|process| {
            space.progress().expect("progress");
            Some(process.look(index)).filter(|value| *value != 0)
        })
    }

    pub fn until<T>(&mut self, mut done: impl FnMut(&Process) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(value) = done(self) {
                return value;
            }
            for child in &mut self.children {
                let status = child.try_wait().expect("wait");
                assert!(status.is_none_or(|status| status.success()), "a process has failed: {status:?}");
            }
            assert!(start.elapsed() < LIMIT, "nothing has happened for too long");
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Kills the other process of that number, from the highest number on; waits until it has ended.
    pub fn kill(&mut self, member: u32) {
        assert_eq!(member as usize, self.children.len(), "kill from the last one on");
        let mut child = self.children.pop().expect("a child");
        child.kill().expect("kill");
        end(child);
    }

    /// Waits until the last other process has ended well; what it has written to its standard error.
    pub fn last_words(&mut self) -> String {
        let (code, text) = end(self.children.pop().expect("a child"));
        assert_eq!(code, Some(0), "a process has failed");
        text
    }
}

/// Says that a test is not run, past the test harness, which keeps what tests print.
pub fn skip(name: &str, why: &str) {
    let _ = std::io::stderr().write_all(format!("{name}: skipped: {why}\n").as_bytes());
}

/// A byte for each position, different for each seed.
pub fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|index| (index as u8).wrapping_mul(31).wrapping_add((index >> 8) as u8) ^ seed).collect()
}
