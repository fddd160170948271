//! Whether the processes of a segment are still there, and when those of several jobs end together (MPI 5.0 section
//! 11.10.4: MPI_Finalize is collective over all connected processes).
//!
//! Nobody watches the processes of another job: its launcher does. So each of them says in its block how far
//! it is, and holds a lock on a byte of the memory's file. However a process ends, the kernel gives up its
//! lock; a process that is said to be there and has none is lost. The processes of the own job do the same
//! where the job goes on without those that are lost ([`crate::vigil`]).

use crate::segment::Segment;
use rustix::fd::BorrowedFd;
use std::time::{Duration, Instant};
use tern_atomics::Ordering;
use tern_region::space::Seat;

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stage {
    /// It has not come, or nobody can tell when it goes.
    Unknown = 0,
    /// It takes part.
    Here = 1,
    /// It has come to its end, and waits for the others.
    Ending = 2,
    /// It has left.
    Left = 3,
    /// Another process has found that it is lost.
    Lost = 4,
}

impl Stage {
    pub fn of(segment: &Segment, place: u32) -> Stage {
        // Acquire: pairs with the release in `set`.
        match segment.process(place).stage.load(Ordering::Acquire) {
            1 => Stage::Here,
            2 => Stage::Ending,
            3 => Stage::Left,
            4 => Stage::Lost,
            _ => Stage::Unknown,
        }
    }

    pub fn set(self, segment: &Segment, place: u32) {
        // Release: pairs with the acquire in `of`; the lock is held by now.
        segment.process(place).stage.store(self as u32, Ordering::Release);
    }

    /// Says of a process, which has ended at this stage, that it is lost; true for the first one that does.
    pub fn mark_lost(self, segment: &Segment, place: u32) -> bool {
        let stage = &segment.process(place).stage;
        // Release: pairs with the acquire in `of`. A process that is said to be lost is told without a question to the kernel.
        stage.compare_exchange(self as u32, Stage::Lost as u32, Ordering::Release, Ordering::Relaxed).is_ok()
    }
}

/// True when the process in that place, which is not this one's, is said to be there and is not.
///
/// The kernel gives up a lock when no thread of its process runs any more. All that the process has stored to shared memory is seen
/// after this then, and nothing more comes.
pub fn is_missed(seat: &Seat, segment: &Segment, place: u32) -> bool {
    let is_said = || !matches!(Stage::of(segment, place), Stage::Unknown | Stage::Left);
    // It may have left between the two looks. One that was found to be lost needs no question.
    Stage::of(segment, place) == Stage::Lost || is_said() && !seat.is_alive(place) && is_said()
}

/// How often processes that wait look whether others are still there.
pub const LOOK: Duration = Duration::from_millis(50);

/// This process's lock, and what it knows of the others.
pub struct Liveness {
    seat: Seat,
    looked: Instant,
    /// Places of processes that were found to be lost.
    pub lost: Vec<u32>,
}

impl Liveness {
    /// Takes the lock. `None` where that cannot be had: then nobody can tell whether this process is there.
    pub fn claim(segment: &Segment, file: BorrowedFd<'_>, me: u32) -> Option<Liveness> {
        let seat = Seat::take(file, 0, me).ok()?;
        Stage::Here.set(segment, me);
        Some(Liveness { seat, looked: Instant::now(), lost: Vec::new() })
    }

    /// True when that process is said to be there and is not.
    pub fn misses(&self, segment: &Segment, place: u32) -> bool {
        is_missed(&self.seat, segment, place)
    }
}

impl Liveness {
    /// Whether it is time to look for processes that have gone without a word.
    pub fn is_due(&self) -> bool {
        self.looked.elapsed() >= LOOK
    }

    /// It is time now, however short a while ago the last look was.
    pub fn make_due(&mut self) {
        self.looked = Instant::now() - LOOK;
    }

    /// Notes which processes a look has missed.
    pub fn looked(&mut self, missed: &[u32]) {
        self.looked = Instant::now();
        self.lost.extend(missed);
    }
}
