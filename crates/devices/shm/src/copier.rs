//! A thread of this process that does its share of copies which the program does not wait for (asynchronous copies): the program computes
//! meanwhile, and both ends find the message whole afterwards. The policy says when there is one ([`tern_policy::offload`]).
//!
//! Whoever has begun a copy by both sides ([`crate::posted_receives::Stage::Shared`]) gives this side's share away with
//! [`Copier::give`]. The thread claims chunks of it as the process itself would, so that nobody has to wait for the thread: of a copy
//! through views the process copies chunks too, as soon as it looks. A chunk that the kernel refuses is given back, which only one thread of a
//! side may do; so the process leaves a copy by the kernel to the thread ([`Copier::has`]).

use crate::doorbell::Doorbell;
use crate::posted_receives::{PostedReceives, Word};
use crate::share::{Reach, Share, Side, copy_share};
use rustix::fd::BorrowedFd;
use rustix::thread::futex;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use tern_threads::Unseen;

/// Shares that wait for the thread at most; what finds no room is copied by the process.
const ROOM: usize = 64;

/// Whether this process may have a thread that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    Unasked,
    /// It starts with the first share.
    Possible,
    /// It must not, or cannot.
    Never,
}

/// A share of a copy: that of this process.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Where the receive is published. It stays while the thread lives.
    pub posted: *const PostedReceives,
    pub slot: u32,
    pub word: Word,
    pub side: Side,
    pub reach: Reach,
    /// Who may sleep until all is copied: this process, and the other one. They stay while the thread lives.
    pub bells: [*const Doorbell; 2],
}

/// What has become of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The thread is at it, or will be.
    UnderWay,
    /// The thread has left it: all chunks are claimed.
    Ended,
    /// The kernel has refused a chunk, which the other side has to copy.
    Failed,
}

/// A share, as the thread reads it.
#[derive(Default)]
struct Entry {
    posted: AtomicPtr<PostedReceives>,
    slot: AtomicU32,
    word: AtomicU64,
    receives: AtomicBool,
    by_kernel: AtomicBool,
    /// An address, or the number of a process.
    reach: AtomicU64,
    bells: [AtomicPtr<Doorbell>; 2],
    failed: AtomicBool,
}

impl Entry {
    // Relaxed, all of them: `Shared::given` and `Shared::ended` order them.

    fn store(&self, task: &Task) {
        self.posted.store(task.posted.cast_mut(), Ordering::Relaxed);
        self.slot.store(task.slot, Ordering::Relaxed);
        self.word.store(task.word.bits(), Ordering::Relaxed);
        self.receives.store(task.side == Side::Receiver, Ordering::Relaxed);
        let (by_kernel, reach) = match task.reach {
            Reach::View(at) => (false, at as u64),
            Reach::Process(number) => (true, number.into()),
        };
        self.by_kernel.store(by_kernel, Ordering::Relaxed);
        self.reach.store(reach, Ordering::Relaxed);
        self.bells.iter().zip(task.bells).for_each(|(to, bell)| to.store(bell.cast_mut(), Ordering::Relaxed));
        self.failed.store(false, Ordering::Relaxed);
    }

    fn load(&self) -> Task {
        let reach = self.reach.load(Ordering::Relaxed);
        Task {
            posted: self.posted.load(Ordering::Relaxed),
            slot: self.slot.load(Ordering::Relaxed),
            word: Word::of(self.word.load(Ordering::Relaxed)),
            side: if self.receives.load(Ordering::Relaxed) { Side::Receiver } else { Side::Sender },
            reach: match self.by_kernel.load(Ordering::Relaxed) {
                true => Reach::Process(reach as u32),
                false => Reach::View(reach as *mut u8),
            },
            bells: [0, 1].map(|at: usize| self.bells[at].load(Ordering::Relaxed).cast_const()),
        }
    }

    fn is(&self, posted: *const PostedReceives, slot: u32, word: Word) -> bool {
        ptr::eq(self.posted.load(Ordering::Relaxed), posted)
            && self.slot.load(Ordering::Relaxed) == slot
            && self.word.load(Ordering::Relaxed) == word.bits()
    }
}

/// What the process and the thread share.
struct Shared {
    /// Shares given ever, and ended ever.
    given: AtomicU32,
    ended: AtomicU32,
    stop: AtomicBool,
    /// Counts what the thread is woken for; the futex word.
    rings: AtomicU32,
    entries: [Entry; ROOM],
}

impl Shared {
    fn new() -> Shared {
        Shared {
            given: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            rings: AtomicU32::new(0),
            entries: std::array::from_fn(|_| Entry::default()),
        }
    }

    fn entry(&self, number: u32) -> &Entry {
        &self.entries[number as usize % ROOM]
    }

    fn ring(&self) {
        // Release: pairs with the acquire in `run`.
        self.rings.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&self.rings, futex::Flags::PRIVATE, 1);
    }
}

/// The thread, and what it was given.
pub struct Copier {
    shared: Box<Shared>,
    /// `None` while this is dropped.
    thread: Option<Unseen>,
    /// The process that has the thread: a child of fork has not.
    process: u32,
    /// Views that the thread may be at.
    held: Cell<u32>,
}

impl Copier {
    /// Starts the thread.
    ///
    /// Errors: see [`Unseen::start`].
    pub fn start() -> rustix::io::Result<Copier> {
        let shared = Box::new(Shared::new());
        let address = (&raw const *shared).cast::<c_void>();
        // SAFETY: `run` keeps to the rules; `shared` is dropped after the thread, and is made of atomics.
        let thread = unsafe { Unseen::start(c"tern-copy", run, address, &[])? };
        Ok(Copier { shared, thread: Some(thread), process: std::process::id(), held: Cell::new(0) })
    }

    /// Gives a share away. False: there is no room for it now.
    ///
    /// # Safety
    /// What the task names stays while the thread lives, and a view until the thread has left the share. Nobody else of this side gives back
    /// chunks of a copy by the kernel.
    pub unsafe fn give(&self, task: &Task) -> bool {
        let shared = &*self.shared;
        // Relaxed: only this process's one thread at a time gives.
        let given = shared.given.load(Ordering::Relaxed);
        // Acquire: the thread has read the entry (partner: `run`).
        if given.wrapping_sub(shared.ended.load(Ordering::Acquire)) == ROOM as u32 {
            return false;
        }
        shared.entry(given).store(task);
        if let Reach::View(_) = task.reach {
            self.held.set(self.held.get() + 1);
        }
        // Release: the entry is written (partner: `run`).
        shared.given.store(given.wrapping_add(1), Ordering::Release);
        shared.ring();
        true
    }

    /// What has become of this process's share of the copy that was seen at `word`; `None` if it was not given away, or long ago. May be
    /// asked by any thread.
    pub fn has(&self, posted: *const PostedReceives, slot: u32, word: Word) -> Option<Progress> {
        let shared = &*self.shared;
        // Acquire: as in `give` and `run`.
        let (given, ended) = (shared.given.load(Ordering::Acquire), shared.ended.load(Ordering::Acquire));
        let mut numbers = (1..=ROOM.min(given as usize) as u32).map(|back| given.wrapping_sub(back));
        let number = numbers.find(|&number| shared.entry(number).is(posted, slot, word))?;
        Some(match shared.entry(number).failed.load(Ordering::Relaxed) {
            _ if (number.wrapping_sub(ended) as i32) >= 0 => Progress::UnderWay,
            true => Progress::Failed,
            false => Progress::Ended,
        })
    }

    /// The thread has left all that it was given, and touches none of the program's memory.
    pub fn is_idle(&self) -> bool {
        // Acquire: what it has copied is seen (partner: `run`).
        self.shared.ended.load(Ordering::Acquire) == self.shared.given.load(Ordering::Relaxed)
    }

    /// How many views were given since the last time that this was not zero, once the thread has left all of them.
    pub fn let_go(&self) -> u32 {
        if self.held.get() > 0 && self.is_idle() { self.held.take() } else { 0 }
    }

    /// Waits until the thread has left what it was given: as long as the copies take.
    pub fn finish(&self) {
        while self.process == std::process::id() && !self.is_idle() {
            rustix::thread::sched_yield();
        }
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.process != std::process::id() {
            return thread.forget();
        }
        // Relaxed: `ring` publishes it.
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.ring();
        drop(thread);
    }
}

/// The thread. See [`Unseen`] for what it must not do. In one case it does so: where the kernel refuses a copy, as of a peer that has just
/// died, the C library writes `errno`, which is that of the thread that has started this one.
fn run(shared: *const c_void, _: &[BorrowedFd<'_>]) {
    // SAFETY: what `Copier::start` has given; it outlives the thread.
    let shared = unsafe { &*shared.cast::<Shared>() };
    loop {
        // Acquire: pairs with the release in `ring`. It is read before the looks, so that no ring is missed.
        let rings = shared.rings.load(Ordering::Acquire);
        let ended = shared.ended.load(Ordering::Relaxed);
        // Acquire: pairs with the release in `give`.
        if ended != shared.given.load(Ordering::Acquire) {
            let entry = shared.entry(ended);
            let task = entry.load();
            // SAFETY: contract of `Copier::give`.
            let (posted, bells) = unsafe { (&*task.posted, task.bells.map(|bell| &*bell)) };
            let share = copy_share(posted, task.slot, task.word, task.side, task.reach);
            entry.failed.store(share == Share::Failed, Ordering::Relaxed);
            // Release: what was copied is there, and the entry may be another's (partners: `give`, `has`, `is_idle`).
            shared.ended.store(ended.wrapping_add(1), Ordering::Release);
            bells.iter().for_each(|bell| bell.ring());
        } else if shared.stop.load(Ordering::Relaxed) {
            return;
        } else {
            let _ = futex::wait(&shared.rings, futex::Flags::PRIVATE, rings, None);
        }
    }
}

#[cfg(test)]
mod tests;
