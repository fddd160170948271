//! Whether the other processes of the job on this node are still there, where the job goes on without those that are lost (TERN_FT).
//!
//! Without it nobody looks: the launcher ends the job. With it each process takes the lock on its byte of the memory's file, and says that
//! it is there, before its peers see anything else of it ([`crate::liveness`]). A process that waits looks at the locks of all others now and then.
//! Whoever has none, though it is said to be there, has ended without a word. Its last messages are taken, and then the loss is told.
//!
//! What is shared of it is the stage of each process, a count of losses, and the lock, which is the kernel's. All else is this process's own.
//!
//! The kernel is asked about one process after the other. The more there are, the seldomer each looks, so that all of them together ask
//! as often for each process. Who finds a loss first counts it in the node's memory and rings the others, who look at once.
//!
//! A process that ends before it has its lock was never there, as far as this device can tell: it cannot be told from one that comes late.

mod children;

use crate::liveness::{Stage, is_missed};
use crate::segment::Segment;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};
use tern_device::clock::ticks;
use tern_region::space::{Error, Seat};

/// Time between two looks of a process, for each of its peers: a question to the kernel takes less than a microsecond.
const LOOK_FOR_EACH: Duration = Duration::from_micros(500);
/// The shortest and the longest time between two looks. The longest and a sleep are less than the 100 ms within which a loss is told.
const LOOK: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(40)];
/// The shortest limit of a sleep: to wake up and find nothing takes ten microseconds or so.
const SLEEP: Duration = Duration::from_millis(10);
/// Polls that have found nothing, between two looks at the clock.
const POLLS: u32 = 15;
/// Ticks of the processor's clock before the system's is read, which takes longer: less than a millisecond.
const TICKS: u64 = 1 << 19;

/// This process's lock, and what it knows of its peers.
pub struct Vigil {
    seat: Seat,
    /// The file without the lock, which children of fork get in the place of that one.
    plain: OwnedFd,
    /// When it has last looked at all of them, and how often it does.
    looked: Cell<Instant>,
    often: Duration,
    /// The processor's clock when the system's was read last.
    ticks: Cell<u64>,
    /// Losses that were known to the node at the last look.
    losses: Cell<u32>,
    /// Polls before it looks at the clock.
    polls: Cell<u32>,
    /// The processes that were found to be lost.
    lost: RefCell<Vec<u32>>,
}

impl Vigil {
    /// Takes the lock, and says that this process is there. `None`, and a line for the user, where that cannot be had: then this process
    /// looks for nobody, and no peer can tell whether it is there.
    pub fn begin(segment: &Segment, file: BorrowedFd<'_>, me: u32) -> Option<Vigil> {
        match Vigil::take(file, me, segment.geometry.processes) {
            Ok(vigil) => {
                children::get_in_place_of(vigil.seat.as_fd(), vigil.plain.as_fd());
                Stage::Here.set(segment, me);
                Some(vigil)
            }
            Err(error) => {
                tern_settings::warn!(
                    "TERN_FT: process {me} of this node cannot take its lock, by which its peers would notice its end: {error}"
                );
                None
            }
        }
    }

    fn take(file: BorrowedFd<'_>, me: u32, processes: u32) -> Result<Vigil, Error> {
        let (seat, plain) = (Seat::take(file, 0, me)?, rustix::io::fcntl_dupfd_cloexec(file, 0)?);
        let looked = Cell::new(Instant::now());
        let often = (LOOK_FOR_EACH * processes.saturating_sub(1)).clamp(LOOK[0], LOOK[1]);
        let (ticks, losses, polls) = (Cell::new(ticks()), Cell::new(0), Cell::new(0));
        Ok(Vigil { seat, plain, looked, often, ticks, losses, polls, lost: RefCell::default() })
    }

    /// The clock is looked at with the next poll.
    pub fn has_slept(&self) {
        self.polls.set(0);
    }

    /// The longest sleep: nobody rings for a process that is lost before somebody has found that.
    pub fn longest_sleep(&self) -> Duration {
        self.often.max(SLEEP)
    }

    /// Whether it is time to look.
    pub fn is_due(&self, segment: &Segment) -> bool {
        let polls = self.polls.get();
        if polls > 0 {
            self.polls.set(polls - 1);
            return false;
        }
        self.polls.set(POLLS);
        if segment.node().losses() != self.losses.get() {
            return true;
        }
        let now = ticks();
        if now.wrapping_sub(self.ticks.get()) < TICKS {
            return false;
        }
        self.ticks.set(now);
        self.looked.get().elapsed() >= self.often
    }

    /// Looks at all peers of `me` at once; true when some are lost that were not before.
    pub fn look(&self, segment: &Segment, me: u32) -> bool {
        self.looked.set(Instant::now());
        self.losses.set(segment.node().losses());
        let mut lost = self.lost.borrow_mut();
        let before = lost.len();
        for peer in (0..segment.geometry.processes).filter(|&peer| peer != me) {
            if !lost.contains(&peer) && self.misses(segment, peer) {
                bury(segment, peer);
                lost.push(peer);
            }
        }
        lost.len() > before
    }

    /// True when `peer`, which is not this process, was there and has gone without a word. Costs a system call. By any thread.
    pub fn misses(&self, segment: &Segment, peer: u32) -> bool {
        is_missed(&self.seat, segment, peer)
    }

    /// The processes that were found to be lost.
    pub fn lost(&self) -> Vec<u32> {
        self.lost.borrow().clone()
    }

    /// The next poll looks at the clock, by which there is no look for an hour.
    #[cfg(test)]
    pub fn make_due_in_an_hour(&self) {
        self.make_due();
        self.looked.set(Instant::now() + Duration::from_secs(3600));
    }

    /// The next poll looks at all peers.
    pub fn make_due(&self) {
        self.polls.set(0);
        self.ticks.set(ticks().wrapping_sub(TICKS));
        self.looked.set(Instant::now() - self.often);
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        children::get_nothing_for(self.seat.as_fd());
    }
}

/// Takes a process that is lost out of what all count, once for all of them: it needs no core. The others are rung, who look then. Where the
/// one that does so dies in the midst of it, the count of those awake stays too high by one, or the others find the loss at a look of their own.
fn bury(segment: &Segment, peer: u32) {
    let stage = Stage::of(segment, peer);
    if stage == Stage::Lost || !stage.mark_lost(segment, peer) {
        return;
    }
    let status = segment.status(peer);
    segment.node().sleepers.bury(&status.asleep);
    status.leave_core();
    segment.node().note_loss();
    (0..segment.geometry.processes).for_each(|other| segment.doorbell(other).ring());
}
