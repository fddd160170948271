//! The guard under loom: instructions and kernels do not meet.

use super::{Busy, Guard, Mode};
use crate::atomics::{AtomicI32, AtomicU32, Ordering};
use loom::sync::Arc;
use loom::sync::atomic::fence;
use loom::thread;
use tern_policy::guard_mode::CHANGE;

struct World {
    guard: Guard,
    busy: [Busy; 2],
    /// The element. A kernel loads and stores it.
    element: AtomicU32,
}

impl World {
    fn new(mode: u32, better: i32) -> Arc<World> {
        let new = AtomicU32::new;
        let better = AtomicI32::new(better);
        Arc::new(World {
            guard: Guard { word: new(0), last: new(0), better, wrong: new(0), mode: Mode(new(mode)) },
            busy: [Busy(new(0)), Busy(new(0))],
            element: new(0),
        })
    }

    fn enter(&self) {
        while !self.guard.try_enter(1) {
            thread::yield_now();
        }
    }

    fn by_kernel(&self) {
        let old = self.element.load(Ordering::Relaxed);
        self.element.store(old + 1, Ordering::Relaxed);
    }

    /// By an instruction, if the mode allows it.
    fn by_instruction(&self, me: usize) -> bool {
        let allowed = self.busy[me].begin(0, &self.guard);
        if allowed {
            self.element.fetch_add(1, Ordering::Relaxed);
            self.busy[me].end();
        }
        allowed
    }

    fn single(&self, me: usize) {
        if self.by_instruction(me) {
            return;
        }
        self.enter();
        if self.guard.allows_instructions() {
            self.element.fetch_add(1, Ordering::Relaxed);
        } else {
            self.by_kernel();
            self.guard.note(1, me as u32);
        }
        self.guard.leave();
    }

    /// A row of so many elements, of which only the first is looked at.
    fn row(&self, me: usize, elements: usize) {
        if self.guard.bears(elements) && self.by_instruction(me) {
            return;
        }
        self.enter();
        if self.guard.allows_instructions() {
            self.guard.forbid_instructions();
            fence(Ordering::SeqCst);
            while self.busy.iter().any(|busy| busy.is_at(0)) {
                thread::yield_now();
            }
        }
        self.by_kernel();
        self.guard.note(elements, me as u32);
        self.guard.leave();
    }
}

/// Two threads from some mode on; nothing is lost.
fn explore(mode: u32, better: i32, first: fn(&World), second: fn(&World)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let world = World::new(mode, better);
        let other = world.clone();
        let thread = thread::spawn(move || second(&other));
        first(&world);
        thread.join().unwrap();
        assert_eq!(world.element.load(Ordering::Relaxed), 3);
    });
}

fn two_singles(world: &World) {
    world.single(0);
    world.single(0);
}

fn long_row(world: &World) {
    world.row(1, CHANGE as usize);
}

#[test]
fn a_row_among_singles() {
    explore(0, 0, two_singles, long_row);
}

#[test]
fn a_single_among_rows() {
    explore(
        0,
        0,
        |world| world.single(0),
        |world| {
            long_row(world);
            long_row(world);
        },
    );
}

#[test]
fn rows_until_a_change_costs_no_more() {
    explore(
        0,
        CHANGE - 2,
        |world| {
            world.row(0, 3);
            world.row(0, 3);
        },
        |world| world.single(1),
    );
}

#[test]
fn instructions_are_allowed_again() {
    explore(1, 1 - CHANGE, two_singles, |world| world.single(1));
}

#[test]
fn and_forbidden_at_once() {
    explore(1, 1 - CHANGE, two_singles, long_row);
}
