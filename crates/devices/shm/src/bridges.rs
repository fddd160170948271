//! Processes of other jobs: further segments, beside the one that the job's own processes share.
//!
//! When groups of processes come to know each other, they get a segment for the processes of both,
//! laid out as a job's, but without lines, and nothing is published or mapped there: messages between
//! jobs go in packets. In each process the newcomers have numbers behind all that it knew before, so
//! a number is a name in one process and never travels.
//!
//! Of a process that sleeps, peers in each segment ring the bell there. So it raises its flag in all
//! of them and sleeps on all their words (futex_waitv).

use crate::doorbell::Barrier;
use crate::link::{Link, NOBODY};
use crate::liveness::{Liveness, Stage};
use crate::segment::{Geometry, Segment};
use crate::state::Shm;
use rustix::fd::BorrowedFd;
use rustix::thread::futex;
use std::cell::Cell;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::time::Duration;
use tern_atomics::Ordering;

/// Words that the kernel takes for one sleep.
const MOST_WORDS: usize = 128;
/// The longest sleep on the own bell when peers may ring another one.
const NAP: Duration = Duration::from_millis(1);

thread_local! {
    /// What this thread is about to sleep on. The end of the thread drops nothing, for it may come before the last call; whoever raises
    /// the flags lowers them, which empties this.
    static WORDS: Cell<ManuallyDrop<Vec<futex::Wait>>> = const { Cell::new(ManuallyDrop::new(Vec::new())) };
}

/// A word to sleep on while it has this value.
fn word(word: &tern_atomics::AtomicU32, value: u32) -> futex::Wait {
    let mut wait = futex::Wait::new();
    wait.val = value as u64;
    wait.uaddr = futex::WaitPtr::new(NonNull::from(word).as_ptr().cast());
    wait.flags = futex::WaitFlags::SIZE_U32;
    wait
}

impl Shm {
    /// Joins the segment that begins at byte `offset` of `file`, as process `me` of `processes`. Those
    /// in the places `newcomers` are peers from now on, in that order; returns the first one's number.
    ///
    /// To be called while nothing else of the device is in use, so never by a [`tern_device::Sink`].
    ///
    /// Errors: the memory cannot be sized or mapped.
    pub fn connect(
        &self, file: BorrowedFd<'_>, offset: u64, me: u32, processes: u32, newcomers: &[u32],
    ) -> io::Result<u32> {
        let segment = Segment::map(file, offset, Geometry::between_jobs(processes))?;
        let first = self.senders.len();
        let more = newcomers.len() as u32;
        let mut number = vec![NOBODY; processes as usize];
        (first..).zip(newcomers).for_each(|(peer, &place)| number[place as usize] = peer);
        self.quiet();
        // SAFETY: nothing else of the device is in use (`quiet`), so no reference is held.
        unsafe {
            self.senders.grow(more);
            self.receivers.grow(more);
            self.blocks.grow(more);
        }
        let known = vec![0; processes.div_ceil(64) as usize];
        let liveness = Liveness::claim(&segment, file, me);
        self.links.borrow_mut().push(Link { segment, me, numbers: first..first + more, number, liveness, known });
        self.elsewhere.set(self.elsewhere.get() + more);
        self.watches.set(true);
        Ok(first)
    }

    /// Keeps numbers for so many peers that are not reached by this device; returns the first one.
    ///
    /// To be called as [`Shm::connect`].
    pub fn reserve(&self, more: u32) -> u32 {
        let first = self.senders.len();
        self.quiet();
        // SAFETY: as in `connect`.
        unsafe {
            self.senders.grow(more);
            self.receivers.grow(more);
            self.blocks.grow(more);
        }
        first
    }

    /// Leaves the segment whose first newcomer has the number `first`. Nothing is sent to its
    /// newcomers any more, nor expected from them; their numbers are not used again.
    ///
    /// To be called as [`Shm::connect`].
    pub fn disconnect(&self, first: u32) {
        self.quiet();
        let mut links = self.links.borrow_mut();
        let Some(at) = links.iter().position(|link| link.numbers.start == first) else { return };
        let link = links.swap_remove(at);
        link.leave();
        self.active.borrow_mut().retain(|peer| !link.numbers.contains(peer));
        self.unread.set(self.unread.get().filter(|peer| !link.numbers.contains(peer)));
        for peer in link.numbers.clone() {
            // SAFETY: as in `connect`.
            unsafe {
                self.senders.clear(peer);
                self.receivers.clear(peer);
                self.blocks.clear(peer);
            }
        }
        self.elsewhere.set(self.elsewhere.get() - link.numbers.len() as u32);
        self.watches.set(self.vigil.is_some() || self.elsewhere.get() > 0);
    }

    /// Fails when packets are being handed out.
    fn quiet(&self) {
        drop(self.active.try_borrow_mut().expect("no packet is being handed out"));
    }

    /// Processes that this one knows.
    pub fn known(&self) -> u32 {
        self.segment.geometry.processes + self.elsewhere.get()
    }

    /// Beside new senders of this job: adds rings of processes of other jobs that have sent for the first time, and looks for processes
    /// of any job that are lost; true when there were any.
    #[cold]
    pub(crate) fn look_further(&self) -> bool {
        self.look_at_home() | (self.elsewhere.get() > 0 && self.find_contacts_elsewhere())
    }

    fn find_contacts_elsewhere(&self) -> bool {
        let mut found = self.look_for_lost();
        for link in self.links.borrow_mut().iter_mut() {
            for (at, known) in link.known.iter_mut().enumerate() {
                // Acquire: pairs with the release in `open`.
                let bits = link.segment.process(link.me).contacts[at].load(Ordering::Acquire);
                let mut fresh = bits & !*known;
                *known = bits;
                while fresh != 0 {
                    let place = at * 64 + fresh.trailing_zeros() as usize;
                    fresh &= fresh - 1;
                    let peer = link.number[place];
                    if peer != NOBODY {
                        self.active.borrow_mut().push(peer);
                        found = true;
                    }
                }
            }
        }
        found
    }

    /// Raises the flags in all further segments, and notes the words for [`Shm::sleep_everywhere`]. The
    /// barrier of the home bell comes after this.
    #[cold]
    pub(crate) fn raise_elsewhere(&self) {
        let links = self.links.borrow();
        let raised = links.iter().map(|link| link.segment.doorbell(link.me));
        let words = raised.map(|bell| word(bell.word(), bell.raise())).collect();
        drop(ManuallyDrop::into_inner(WORDS.replace(ManuallyDrop::new(words))));
    }

    #[cold]
    pub(crate) fn lower_elsewhere(&self) {
        self.links.borrow().iter().for_each(|link| link.segment.doorbell(link.me).lower());
        drop(ManuallyDrop::into_inner(WORDS.take()));
    }

    /// Sleeps until a peer of any segment rings, or `timeout`. Without the library's lock: it looks at
    /// nothing but what this thread has noted. False when there is nothing but the home bell.
    pub(crate) fn sleep_everywhere(&self, token: u32, barrier: Barrier, timeout: Duration) -> bool {
        let mut words = ManuallyDrop::into_inner(WORDS.take());
        if words.is_empty() {
            return false;
        }
        let bell = self.segment.doorbell(self.me);
        if barrier == Barrier::Naps || words.len() >= MOST_WORDS {
            bell.sleep(token, barrier, timeout.min(NAP));
            return true;
        }
        words.push(word(bell.word(), token));
        let end = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let nanoseconds = end.tv_nsec + timeout.subsec_nanos() as i64;
        let end = futex::Timespec {
            tv_sec: end.tv_sec + timeout.as_secs() as i64 + nanoseconds / 1_000_000_000,
            tv_nsec: nanoseconds % 1_000_000_000,
        };
        // A kernel before 5.16 has no such call, and a container may refuse it. Whatever else it says means:
        // look for work again.
        let slept = futex::waitv(&words, futex::WaitvFlags::empty(), Some(&end), futex::ClockId::Monotonic);
        if let Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) = slept {
            bell.sleep(token, barrier, timeout.min(NAP));
        }
        true
    }
}

impl Shm {
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

    /// Says that this process has ended: nobody waits for it any more, and it is not lost when it goes.
    pub fn ended(&self) {
        self.links.borrow().iter().for_each(Link::leave);
        self.say_at_home(Stage::Left);
    }
}
