//! What the processes of a model and its server say to each other: a file that all of them map.
//!
//! A process writes what it does into its [`Slot`], rings the server's bell, and sleeps until it is answered. One process at most runs at
//! a time, so no word is contended for.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The setting that names the file.
pub const SETTING: &str = "TERN_MODEL";

/// Most lines that a process that waits can name.
pub const LOOKED: usize = 1000;

/// The first page of the file.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Header {
    /// Counts what the server is woken for; a futex.
    pub bell: AtomicU32,
    /// Cores of the machine.
    pub cores: AtomicU32,
    /// Nanoseconds of an access that moves no line, as bits.
    pub step: AtomicU64,
    /// Bytes that a core moves within its caches in a nanosecond, as bits.
    pub near: AtomicU64,
    /// 1 when the run has failed: no process goes on.
    pub failed: AtomicU32,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Act {
    /// It has come to the beginning; `source.offset` is its core, `target.offset` its number in the kernel.
    Begin,
    /// It reads the source.
    Read,
    /// It stores to the target, and does not wait for that.
    Write,
    /// It changes the target by one instruction, and waits for that.
    Change,
    /// It copies the source to the target.
    Copy,
    /// The kernel has copied so many bytes as the source has between it and the process whose number is `source.offset`.
    Take,
    /// It asks for the source's line early, or for the target's, to write it.
    Fetch,
    /// It waits until another process writes one of the lines that it names.
    Pause,
    /// It waits for all processes; `source.offset` is the level.
    Mark,
    /// It leaves.
    End,
}

impl Act {
    const ALL: [Act; 10] = [
        Act::Begin,
        Act::Read,
        Act::Write,
        Act::Change,
        Act::Copy,
        Act::Take,
        Act::Fetch,
        Act::Pause,
        Act::Mark,
        Act::End,
    ];

    /// The one with this number; `None` if there is none.
    pub fn of(number: u32) -> Option<Act> {
        Act::ALL.get(number as usize).copied()
    }
}

/// Bytes of a file; of file 0 those of private memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The file's number in the kernel.
    pub file: u64,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A [`Range`] in the file.
#[repr(C)]
#[derive(Debug)]
pub struct Words([AtomicU64; 3]);

impl Words {
    /// What was stored last.
    pub fn load(&self) -> Range {
        let [file, offset, bytes] = self.0.each_ref().map(|word| word.load(Ordering::Relaxed));
        Range { file, offset, bytes }
    }

    /// Ordered by the state of the slot.
    pub fn store(&self, range: Range) {
        let words = [range.file, range.offset, range.bytes];
        self.0.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
    }
}

/// A clock, in nanoseconds.
#[repr(C)]
#[derive(Debug)]
pub struct Clock(AtomicU64);

impl Clock {
    /// Its time.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Ordered by the state of the slot.
    pub fn set(&self, time: f64) {
        self.0.store(time.to_bits(), Ordering::Relaxed);
    }
}

/// What a process says and is told.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Slot {
    /// 1 when it asks, 0 when it is answered; a futex.
    pub asks: AtomicU32,
    /// An [`Act`].
    pub act: AtomicU32,
    /// What is read.
    pub source: Words,
    /// What is written.
    pub target: Words,
    /// The clock of the process when it asks, and when it goes on.
    pub clock: Clock,
    /// Until then no other process changes what this one holds.
    pub until: Clock,
    /// Counts what others have done to lines that this process held.
    pub stale: AtomicU64,
    /// How many lines it names; [`LOOKED`] + 1: it has looked at more than there is room for.
    pub looked: AtomicU32,
    /// The lines: a file, and which of its lines.
    pub lines: [[AtomicU64; 2]; LOOKED],
}

/// Bytes of a line.
pub const LINE: u64 = 64;

/// Bytes of the file for so many processes.
pub const fn length(processes: usize) -> usize {
    size_of::<Header>() + processes * size_of::<Slot>()
}
