//! Whether the processes of a further segment are still there, and when they end together (MPI 5.0 section
//! 11.10.4: MPI_Finalize is collective over all connected processes).
//!
//! Nobody watches the processes of another job: its launcher does. So each of them says in its block how far
//! it is, and holds a lock on a byte of the memory's file. However a process ends, the kernel gives up its
//! lock; a process that is said to be there and has none is lost.

use crate::device::Shm;
use crate::link::{Link, NOBODY};
use crate::segment::Segment;
use crate::sync::Ordering;
use rustix::fd::BorrowedFd;
use std::time::{Duration, Instant};
use tern_device::Sink;
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
}

impl Stage {
    fn of(segment: &Segment, place: u32) -> Stage {
        // Acquire: pairs with the release in `set`.
        match segment.process(place).stage.load(Ordering::Acquire) {
            1 => Stage::Here,
            2 => Stage::Ending,
            3 => Stage::Left,
            _ => Stage::Unknown,
        }
    }

    fn set(self, segment: &Segment, place: u32) {
        // Release: pairs with the acquire in `of`; the lock is held by now.
        segment.process(place).stage.store(self as u32, Ordering::Release);
    }
}

/// How often processes that wait look whether others are still there.
const LOOK: Duration = Duration::from_millis(50);

/// This process's lock, and what it knows of the others.
pub struct Liveness {
    seat: Seat,
    looked: Instant,
    /// Places of processes that were found to be lost.
    lost: Vec<u32>,
}

impl Liveness {
    /// Takes the lock. `None` where that cannot be had: then nobody can tell whether this process is there.
    pub fn claim(segment: &Segment, file: BorrowedFd<'_>, me: u32) -> Option<Liveness> {
        let seat = Seat::take(file, 0, me).ok()?;
        Stage::Here.set(segment, me);
        Some(Liveness { seat, looked: Instant::now(), lost: Vec::new() })
    }

    /// True when that process is said to be there and is not.
    fn misses(&self, segment: &Segment, place: u32) -> bool {
        let is_said = || matches!(Stage::of(segment, place), Stage::Here | Stage::Ending);
        // It may have left between the two looks.
        is_said() && !self.seat.is_alive(place) && is_said()
    }
}

impl Link {
    /// Places of the processes that this one has come to know here.
    fn newcomers(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.number).filter(|&(_, &number)| number != NOBODY).map(|(place, _)| place)
    }

    fn is_lost(&self, place: u32) -> bool {
        self.liveness.as_ref().is_some_and(|liveness| liveness.lost.contains(&place))
    }

    /// Looks for processes that have gone without a word, if it is time; true when there are any.
    fn look(&mut self) -> bool {
        let Some(liveness) = &self.liveness else { return false };
        if liveness.looked.elapsed() < LOOK {
            return false;
        }
        let missed = |&place: &u32| !self.is_lost(place) && liveness.misses(&self.segment, place);
        let missed: Vec<u32> = self.newcomers().filter(missed).collect();
        let liveness = self.liveness.as_mut().expect("it was there");
        liveness.looked = Instant::now();
        liveness.lost.extend(&missed);
        !missed.is_empty()
    }

    /// Says how far this process is, and wakes those who wait for that.
    fn say(&self, stage: Stage) {
        if self.liveness.is_some() {
            stage.set(&self.segment, self.me);
            self.newcomers().for_each(|place| self.segment.doorbell(place).ring());
        }
    }

    /// Says that this process needs nothing of the others, nor they of it.
    pub(crate) fn leave(&self) {
        self.say(Stage::Left);
    }
}

impl Shm {
    /// Looks for processes of other jobs that have gone without a word, if it is time; true when there are any.
    pub(crate) fn look_for_lost(&self) -> bool {
        self.links.borrow_mut().iter_mut().fold(false, |found, link| link.look() | found)
    }

    /// Tells of the processes that are lost and were not told of, when all that they have sent was taken.
    #[cold]
    pub(crate) fn tell_lost<S: Sink>(&self, sink: &mut S) {
        let number = |link: &Link| -> Vec<u32> {
            let lost = link.liveness.iter().flat_map(|liveness| &liveness.lost);
            lost.map(|&place| link.number[place as usize]).collect()
        };
        let lost: Vec<u32> = self.links.borrow().iter().flat_map(number).collect();
        for peer in lost {
            if !self.told.borrow_mut().insert(peer) {
                continue;
            }
            self.take_all(peer, sink);
            sink.lost(peer, "it has ended, or was ended, without MPI_Finalize");
        }
    }

    /// Leaves, for all that others wait for, the segment whose first newcomer has the number `first`.
    pub fn part(&self, first: u32) {
        self.links.borrow().iter().filter(|link| link.numbers.start == first).for_each(Link::leave);
    }

    /// Says that this process has come to its end, and waits for those of other jobs.
    pub fn end(&self) {
        let links = self.links.borrow();
        let here = links.iter().filter(|link| Stage::of(&link.segment, link.me) == Stage::Here);
        here.for_each(|link| link.say(Stage::Ending));
    }

    /// The processes of other jobs that have not come to their end, and are there.
    pub fn awaited(&self) -> Vec<u32> {
        let links = self.links.borrow();
        let here = links.iter().filter(|link| Stage::of(&link.segment, link.me) == Stage::Ending);
        let awaited = here.flat_map(|link| {
            let is_here = |place: &u32| Stage::of(&link.segment, *place) == Stage::Here && !link.is_lost(*place);
            link.newcomers().filter(is_here).map(|place| link.number[place as usize])
        });
        awaited.collect()
    }

    /// Says that this process has ended: nobody waits for it any more.
    pub fn ended(&self) {
        self.links.borrow().iter().for_each(Link::leave);
    }
}
