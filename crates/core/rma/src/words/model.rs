//! The lock words under loom: two never hold what excludes them, and nobody who waits is forgotten.

use super::{Common, Lock, Try};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Notify};
use loom::thread;
use tern_atomics::{AtomicU32, Ordering};

/// A window of two members, with memory that the locks protect, and a bell for each thread.
struct World {
    common: Common,
    locks: [Lock; 2],
    memory: [UnsafeCell<u32>; 2],
    waiting: [AtomicU32; 3],
    bells: [Notify; 3],
    /// Rung by one that has a lock for all.
    all: Notify,
}

// SAFETY: `memory` is only touched under the locks, whose rules are what is tested here.
unsafe impl Sync for World {}

/// What a thread does.
#[derive(Clone, Copy)]
enum Work {
    Alone(usize),
    Shared(usize),
    All,
    /// Shares a lock, and gives it up after somebody else has had one for all.
    SharedUntilAll(usize),
}

impl World {
    fn new() -> Arc<World> {
        let lock = || Lock { word: AtomicU32::new(0) };
        Arc::new(World {
            common: Common { holders: AtomicU32::new(0), alone: AtomicU32::new(0), waiting: AtomicU32::new(0) },
            locks: [lock(), lock()],
            memory: [UnsafeCell::new(0), UnsafeCell::new(0)],
            waiting: std::array::from_fn(|_| AtomicU32::new(0)),
            bells: std::array::from_fn(|_| Notify::new()),
            all: Notify::new(),
        })
    }

    fn rouse(&self) {
        for (waiting, bell) in self.waiting.iter().zip(&self.bells) {
            if waiting.load(Ordering::SeqCst) > 0 {
                bell.notify();
            }
        }
    }

    /// As `Window::take`, with a bell that is never rung by chance.
    fn take(&self, me: usize, attempt: impl Fn() -> Try) {
        let once = || match attempt() {
            Try::Taken => true,
            Try::Busy => false,
            Try::Disturbed => {
                self.rouse();
                false
            }
        };
        if once() {
            return;
        }
        self.waiting[me].fetch_add(1, Ordering::SeqCst);
        self.common.begin_waiting();
        while !once() {
            self.bells[me].wait();
        }
        self.common.end_waiting();
        self.waiting[me].fetch_sub(1, Ordering::Relaxed);
    }

    fn run(&self, me: usize, work: Work) {
        let read = |index: usize| self.memory[index].with(|at| unsafe { *at });
        let awaited = match work {
            Work::Alone(index) => {
                self.take(me, || self.locks[index].try_exclude(&self.common, me as u32));
                self.memory[index].with_mut(|at| unsafe { *at += 1 });
                self.locks[index].include(&self.common)
            }
            Work::Shared(index) => {
                self.take(me, || self.locks[index].try_share());
                read(index);
                self.locks[index].unshare(&self.common)
            }
            Work::SharedUntilAll(index) => {
                self.take(me, || self.locks[index].try_share());
                self.all.wait();
                self.locks[index].unshare(&self.common)
            }
            Work::All => {
                self.take(me, || self.common.try_lock_all(self.locks.iter()));
                self.all.notify();
                (read(0), read(1));
                self.common.unlock_all()
            }
        };
        if awaited {
            self.rouse();
        }
    }
}

fn explore(works: &'static [Work]) {
    let mut model = loom::model::Builder::new();
    // All interleavings of two threads; of three, those with few preemptions.
    model.preemption_bound = Some(if works.len() > 2 { 2 } else { 4 });
    model.check(move || {
        let world = World::new();
        let threads: Vec<_> = works[1..]
            .iter()
            .enumerate()
            .map(|(index, work)| {
                let world = world.clone();
                thread::spawn(move || world.run(index + 1, *work))
            })
            .collect();
        world.run(0, works[0]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let sum: u32 = world.memory.iter().map(|at| at.with(|at| unsafe { *at })).sum();
        assert_eq!(sum as usize, works.iter().filter(|work| matches!(work, Work::Alone(_))).count());
    });
}

#[test]
fn two_that_want_it_alone() {
    explore(&[Work::Alone(0), Work::Alone(0)]);
}

#[test]
fn alone_and_shared() {
    explore(&[Work::Alone(0), Work::Shared(0)]);
}

#[test]
fn alone_and_all() {
    explore(&[Work::Alone(1), Work::All]);
}

#[test]
fn alone_shared_and_all() {
    explore(&[Work::Alone(0), Work::Shared(0), Work::All]);
}

#[test]
fn two_alone_and_all() {
    explore(&[Work::Alone(0), Work::Alone(0), Work::All]);
}

#[test]
fn alone_here_and_there() {
    explore(&[Work::Alone(0), Work::All, Work::Alone(1)]);
}

/// Those that share locks do not wait for each other, whatever others try.
#[test]
fn all_while_shared() {
    explore(&[Work::Alone(0), Work::SharedUntilAll(0), Work::All]);
}
