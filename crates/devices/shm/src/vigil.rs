//! Whether the other processes of the job on this node are still there, where the job goes on without those that are lost (TERN_FT).
//!
//! Without it nobody looks: the launcher ends the job. With it each process takes the lock on its byte of the memory's file, and says that
//! it is there, before its peers see anything else of it ([`crate::liveness`]). A process that waits looks at the locks of all others now and then.
//! Whoever has none, though it is said to be there, has ended without a word. Its last messages are taken, and then the loss is told.
//!
//! What is shared of it is the stage of each process, one word, and the lock, which is the kernel's. All else is this process's own.
//!
//! A process that ends before it has its lock was never there, as far as this device can tell: it cannot be told from one that comes late.

mod children;

use crate::liveness::{LOOK, Stage, is_missed};
use crate::segment::Segment;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};
use tern_region::space::{Error, Seat};

/// The longest sleep. Together with the time between two looks it is less than the 100 ms within which a loss is told.
pub const SLEEP: Duration = Duration::from_millis(40);
/// Polls that have found nothing, between two looks at the clock.
const POLLS: u32 = 15;

/// This process's lock, and what it knows of its peers.
pub struct Vigil {
    seat: Seat,
    /// The file without the lock, which children of fork get in the place of that one.
    plain: OwnedFd,
    /// When it has last looked at all of them.
    looked: Cell<Instant>,
    /// Polls before it looks at the clock.
    polls: Cell<u32>,
    /// The processes that were found to be lost.
    lost: RefCell<Vec<u32>>,
}

impl Vigil {
    /// Takes the lock, and says that this process is there. `None`, and a line for the user, where that cannot be had: then this process
    /// looks for nobody, and no peer can tell whether it is there.
    pub fn begin(segment: &Segment, file: BorrowedFd<'_>, me: u32) -> Option<Vigil> {
        match Vigil::take(file, me) {
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

    fn take(file: BorrowedFd<'_>, me: u32) -> Result<Vigil, Error> {
        let (seat, plain) = (Seat::take(file, 0, me)?, rustix::io::fcntl_dupfd_cloexec(file, 0)?);
        let looked = Cell::new(Instant::now());
        Ok(Vigil { seat, plain, looked, polls: Cell::new(0), lost: RefCell::default() })
    }

    /// The clock is looked at with the next poll.
    pub fn has_slept(&self) {
        self.polls.set(0);
    }

    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        let polls = self.polls.get();
        if polls > 0 {
            self.polls.set(polls - 1);
            return false;
        }
        self.polls.set(POLLS);
        self.looked.get().elapsed() >= LOOK
    }

    /// Looks at all peers of `me` at once; true when some are lost that were not before.
    pub fn look(&self, segment: &Segment, me: u32) -> bool {
        self.looked.set(Instant::now());
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

    /// The next poll looks at all peers.
    pub fn make_due(&self) {
        self.polls.set(0);
        self.looked.set(Instant::now() - LOOK);
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        children::get_nothing_for(self.seat.as_fd());
    }
}

/// Takes a process that is lost out of what all count, once for all of them: it needs no core. Where the one that does so dies in the midst of it,
/// the count of those awake stays too high by one. That concerns how long others spin, and nothing else.
fn bury(segment: &Segment, peer: u32) {
    let stage = Stage::of(segment, peer);
    if stage == Stage::Lost || !stage.mark_lost(segment, peer) {
        return;
    }
    let status = segment.status(peer);
    segment.node().sleepers.bury(&status.asleep);
    status.leave_core();
}
