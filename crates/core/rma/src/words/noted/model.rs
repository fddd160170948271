//! The noted locks under loom: what excludes each other is never held at once, nobody who waits is forgotten, and a member that is lost at any step
//! keeps nobody from a lock.

use super::super::{Common, EXCLUSIVE, Lock, Try, order};
use super::{Note, Notes};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Notify};
use loom::thread;
use tern_atomics::{AtomicU8, AtomicU32, Ordering};

/// The member that is lost, if one is.
const LOST: usize = 2;

/// A window of three members, two of which have locks and memory that these protect.
struct World {
    common: Common,
    locks: [Lock; 2],
    /// For each lock, and for all of them.
    notes: [[Note; 3]; 3],
    memory: [UnsafeCell<u32>; 2],
    waiting: [AtomicU32; 3],
    bells: [Notify; 3],
    /// The kernel has given up what it holds for the lost member, of which nothing comes any more.
    gone: AtomicU32,
}

// SAFETY: `memory` is only touched under the locks, whose rules are what is tested here.
unsafe impl Sync for World {}

#[derive(Clone, Copy)]
enum Work {
    Alone(usize),
    Shared(usize),
    All,
}

impl World {
    fn new() -> Arc<World> {
        let lock = || Lock { word: AtomicU32::new(0) };
        let notes = || std::array::from_fn(|_| Note(AtomicU8::new(0)));
        Arc::new(World {
            common: Common { holders: AtomicU32::new(0), alone: AtomicU32::new(0), waiting: AtomicU32::new(0) },
            locks: [lock(), lock()],
            notes: std::array::from_fn(|_| notes()),
            memory: [UnsafeCell::new(0), UnsafeCell::new(0)],
            waiting: std::array::from_fn(|_| AtomicU32::new(0)),
            bells: std::array::from_fn(|_| Notify::new()),
            gone: AtomicU32::new(0),
        })
    }

    fn notes(&self, index: usize) -> Notes<'_> {
        Notes { one: &self.notes[index], all: &self.notes[2] }
    }

    fn attempt(&self, me: usize, work: Work) -> Try {
        match work {
            Work::Alone(index) => self.locks[index].try_exclude_noted(&self.common, self.notes(index), me as u32),
            Work::Shared(index) => self.locks[index].try_share_noting(&self.common, &self.notes[index][me]),
            Work::All => self.common.try_lock_all_noting(self.locks.iter(), &self.notes[2][me]),
        }
    }

    fn give_up(&self, me: usize, work: Work) -> bool {
        match work {
            Work::Alone(index) => self.locks[index].include(&self.common),
            Work::Shared(index) => self.notes[index][me].clear(&self.common),
            Work::All => self.notes[2][me].clear(&self.common),
        }
    }

    fn touch(&self, work: Work) {
        let read = |index: usize| _ = self.memory[index].with(|at| unsafe { *at });
        match work {
            Work::Alone(index) => self.memory[index].with_mut(|at| unsafe { *at += 1 }),
            Work::Shared(index) => read(index),
            Work::All => (0..2).for_each(read),
        }
    }

    fn rouse(&self) {
        for (waiting, bell) in self.waiting.iter().zip(&self.bells) {
            if waiting.load(Ordering::SeqCst) > 0 {
                bell.notify();
            }
        }
    }

    fn once(&self, me: usize, work: Work) -> bool {
        let tried = self.attempt(me, work);
        if tried == Try::Disturbed {
            self.rouse();
        }
        tried == Try::Taken
    }

    /// As `Window::take_from_lost`.
    fn take_from_lost(&self) {
        // Acquire: pairs with the release of the kernel.
        if self.gone.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut awaited = self.locks.iter().fold(false, |any, lock| lock.include_lost(&self.common, LOST as u32) | any);
        awaited = self.notes.iter().fold(awaited, |any, notes| notes[LOST].take(&self.common) | any);
        if awaited {
            self.rouse();
        }
    }

    fn begin_waiting(&self, me: usize) {
        self.waiting[me].fetch_add(1, Ordering::SeqCst);
        self.common.begin_waiting();
    }

    /// As `Window::take`, with a bell that is never rung by chance.
    fn take(&self, me: usize, work: Work) {
        if self.once(me, work) {
            return;
        }
        self.begin_waiting(me);
        while !self.once(me, work) {
            self.take_from_lost();
            if self.once(me, work) {
                break;
            }
            self.bells[me].wait();
        }
        self.common.end_waiting();
        self.waiting[me].fetch_sub(1, Ordering::Relaxed);
    }

    fn run(&self, me: usize, work: Work) {
        self.take(me, work);
        self.touch(work);
        if self.give_up(me, work) {
            self.rouse();
        }
    }

    /// The steps of the lost member, so many of them. `None`: it has ended there.
    fn run_until(&self, work: Work, mut steps: u32) -> Option<()> {
        let mut step = || steps.checked_sub(1).map(|left| steps = left);
        self.begin_waiting(LOST);
        step()?;
        // What it changes that others see is in words of its own, one by one.
        match work {
            Work::Alone(index) => {
                self.common.alone.store(1, Ordering::SeqCst);
                step()?;
                let (lock, mine) = (&self.locks[index].word, EXCLUSIVE | LOST as u32);
                lock.compare_exchange(0, mine, Ordering::SeqCst, Ordering::SeqCst).ok()?;
                step()?;
                order();
                if !self.notes(index).is_any_set() {
                    self.touch(work);
                    step()?;
                }
                lock.swap(0, Ordering::SeqCst);
            }
            Work::Shared(_) | Work::All => {
                let (note, locks) = match work {
                    Work::Shared(index) => (&self.notes[index][LOST].0, &self.locks[index..index + 1]),
                    _ => (&self.notes[2][LOST].0, &self.locks[..]),
                };
                note.store(1, Ordering::SeqCst);
                step()?;
                order();
                if locks.iter().all(|lock| lock.word.load(Ordering::SeqCst) & EXCLUSIVE == 0) {
                    self.touch(work);
                    step()?;
                }
                note.store(0, Ordering::SeqCst);
            }
        }
        // It wakes nobody.
        None
    }

    /// The last thing that is heard of the lost member. Those that sleep look by themselves after a while.
    fn end(&self) {
        // Release: pairs with the acquire in `take_from_lost`.
        self.gone.store(1, Ordering::Release);
        self.bells.iter().for_each(|bell| bell.notify());
    }
}

fn explore(bound: usize, works: &'static [Work], lost: Option<(Work, u32)>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(bound);
    model.check(move || {
        let world = World::new();
        let mut threads = Vec::new();
        for (me, &work) in works.iter().enumerate().skip(1) {
            let world = world.clone();
            threads.push(thread::spawn(move || world.run(me, work)));
        }
        if let Some((work, steps)) = lost {
            let world = world.clone();
            threads.push(thread::spawn(move || {
                _ = world.run_until(work, steps);
                world.end();
            }));
        }
        world.run(0, works[0]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let sum: u32 = world.memory.iter().map(|at| at.with(|at| unsafe { *at })).sum();
        let alone = works.iter().filter(|work| matches!(work, Work::Alone(_))).count() as u32;
        let by_lost = u32::from(matches!(lost, Some((Work::Alone(_), _))));
        assert!((alone..=alone + by_lost).contains(&sum), "{sum}");
    });
}

#[test]
fn two_that_want_it_alone() {
    explore(4, &[Work::Alone(0), Work::Alone(0)], None);
}

#[test]
fn alone_and_shared() {
    explore(4, &[Work::Alone(0), Work::Shared(0)], None);
}

#[test]
fn alone_and_all() {
    explore(4, &[Work::Alone(1), Work::All], None);
}

#[test]
fn alone_shared_and_all() {
    explore(2, &[Work::Alone(0), Work::Shared(0), Work::All], None);
}

#[test]
fn two_alone_and_all() {
    explore(2, &[Work::Alone(0), Work::Alone(1), Work::All], None);
}

/// A member ends at any of its steps, while one of the others wants what it has.
fn lost_at_each_step(lost: Work, others: &'static [Work], bound: usize) {
    (0..=3).for_each(|steps| explore(bound, others, Some((lost, steps))));
}

#[test]
fn who_is_lost_alone_keeps_nobody_from_the_lock() {
    lost_at_each_step(Work::Alone(0), &[Work::Alone(0)], 4);
    lost_at_each_step(Work::Alone(0), &[Work::Shared(0)], 4);
    lost_at_each_step(Work::Alone(1), &[Work::All], 4);
}

#[test]
fn who_is_lost_while_it_shares_keeps_nobody_from_the_lock() {
    lost_at_each_step(Work::Shared(0), &[Work::Alone(0)], 4);
    lost_at_each_step(Work::All, &[Work::Alone(1)], 4);
}

#[test]
fn two_that_take_from_a_lost_one_exclude_each_other() {
    lost_at_each_step(Work::Alone(0), &[Work::Alone(0), Work::Alone(0)], 2);
    lost_at_each_step(Work::Shared(0), &[Work::Alone(0), Work::Alone(0)], 2);
    lost_at_each_step(Work::All, &[Work::Alone(0), Work::All], 2);
}
