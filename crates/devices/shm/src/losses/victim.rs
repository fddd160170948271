//! Processes that are really killed, for tests: a test starts its own program again, which does what the case says, tells that it has come so
//! far, and waits there for its end.

use crate::state::Shm;
use crate::vigil::Vigil;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use tern_device::{Header, Sink};

/// Processes of the segment: the test's own two, and the victim between them.
const PROCESSES: u32 = 3;
/// The number of the victim.
pub const VICTIM: u32 = 1;
const CASE: &str = "TERN_TEST_VICTIM";
/// What it writes when it has come to its place.
const THERE: &str = "it is there";

/// What a process has heard, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Packet(u32, Vec<u8>),
    Delivered(u32, u64),
    Sent(u32),
    Lost(u32),
}

#[derive(Default)]
pub struct Ears(pub Vec<Heard>);

impl Sink for Ears {
    fn packet(&mut self, from: u32, _: &Header, payload: &[u8]) {
        self.0.push(Heard::Packet(from, payload.to_vec()));
    }
    fn delivered(&mut self, receiver: u32, size: u64) {
        self.0.push(Heard::Delivered(receiver, size));
    }
    fn sent(&mut self, sender: u32) {
        self.0.push(Heard::Sent(sender));
    }
    fn lost(&mut self, peer: u32, why: &str) {
        assert!(why.contains("without MPI_Finalize"), "{why}");
        self.0.push(Heard::Lost(peer));
    }
}

/// The memory of a segment, which a victim inherits.
pub fn memory() -> OwnedFd {
    rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::empty()).expect("a memfd")
}

/// A process of the segment, which survives its peers.
pub fn join(memory: &OwnedFd, me: u32) -> Shm {
    Shm::join(memory.as_fd(), me, PROCESSES, 2, None, true).expect("shared memory")
}

/// Hears all that there is to hear now, with a look at all peers.
pub fn hear(survivor: &Shm, ears: &mut Ears) {
    for _ in 0..5 {
        survivor.vigil.as_deref().inspect(|vigil| Vigil::make_due(vigil));
        survivor.poll_into(ears);
    }
}

/// All that a process hears from the beginning.
pub fn all_heard(survivor: &Shm) -> Vec<Heard> {
    let mut ears = Ears::default();
    hear(survivor, &mut ears);
    ears.0
}

/// A process to be killed.
pub struct Victim {
    child: Child,
    /// The lines that it has written.
    said: Vec<String>,
}

impl Victim {
    /// [`Victim::begin`], and waits until it has come to the place of this case.
    pub fn start(test: &str, case: &str, memory: &OwnedFd) -> Victim {
        let mut victim = Victim::begin(test, case, memory);
        victim.wait();
        victim
    }

    /// Starts the program again for its ignored test `test`, which calls [`role`].
    pub fn begin(test: &str, case: &str, memory: &OwnedFd) -> Victim {
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(CASE, format!("{case} {}", memory.as_raw_fd()))
            .stdout(Stdio::piped())
            .spawn();
        Victim { child: child.expect("a process"), said: Vec::new() }
    }

    /// Waits until it has come to its place.
    pub fn wait(&mut self) {
        let lines = BufReader::new(self.child.stdout.take().expect("piped")).lines();
        for line in lines.map(|line| line.expect("a line")) {
            if line == THERE {
                return;
            }
            self.said.push(line);
        }
        panic!("the victim has ended by itself: {:?}", self.said);
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_some()
    }

    /// The number that the victim has told behind these words.
    pub fn number(&self, words: &str) -> i32 {
        let told = self.said.iter().find_map(|line| line.strip_prefix(words));
        told.expect("it has told").trim().parse().expect("a number")
    }

    /// Kills it, and waits until it has ended.
    pub fn kill(mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // A test that has failed before leaves no process behind.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// What a victim is to do, and its device; `None` in a test program that nobody has started for that. The device comes from [`join`].
pub fn role(begin: impl FnOnce(&OwnedFd) -> Shm) -> Option<(String, Shm)> {
    let role = std::env::var(CASE).ok()?;
    let (case, number) = role.rsplit_once(' ').expect("a case and a descriptor");
    // SAFETY: inherited for this, and open until this process is killed.
    let memory = unsafe { BorrowedFd::borrow_raw(number.parse().expect("a number")) };
    let memory = memory.try_clone_to_owned().expect("a descriptor");
    Some((case.to_string(), begin(&memory)))
}

/// Tells something, past what captures the output of tests.
pub fn say(words: &str) {
    std::io::stdout().write_all(format!("\n{words}\n").as_bytes()).expect("somebody reads");
}

/// Tells that the victim has come to its place, and waits there.
pub fn stay() -> ! {
    say(THERE);
    loop {
        // SAFETY: it takes no arguments.
        unsafe { libc::pause() };
    }
}
