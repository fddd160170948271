//! The guard under loom: instructions and kernels do not meet.

use super::{Busy, CALM, Guard};
use crate::atomics::{AtomicU32, Ordering};
use loom::sync::Arc;
use loom::sync::atomic::fence;
use loom::thread;

struct World {
    guard: Guard,
    busy: [Busy; 2],
    /// The element. A kernel loads and stores it.
    element: AtomicU32,
}

impl World {
    fn new(mode: u32, calm: u32) -> Arc<World> {
        let new = AtomicU32::new;
        Arc::new(World {
            guard: Guard { word: new(0), mode: new(mode), calm: new(calm) },
            busy: [Busy(new(0)), Busy(new(0))],
            element: new(0),
        })
    }

    fn enter(&self) {
        while !self.guard.try_enter() {
            thread::yield_now();
        }
    }

    fn by_kernel(&self) {
        let old = self.element.load(Ordering::Relaxed);
        self.element.store(old + 1, Ordering::Relaxed);
    }

    fn single(&self, me: usize) {
        if self.busy[me].begin(0, &self.guard) {
            self.element.fetch_add(1, Ordering::Relaxed);
            return self.busy[me].end();
        }
        self.enter();
        if self.guard.allows_instructions() {
            self.element.fetch_add(1, Ordering::Relaxed);
        } else {
            self.by_kernel();
            self.guard.note(false);
        }
        self.guard.leave();
    }

    fn row(&self) {
        self.enter();
        if self.guard.allows_instructions() {
            self.guard.forbid_instructions();
            fence(Ordering::SeqCst);
            while self.busy.iter().any(|busy| busy.is_at(0)) {
                thread::yield_now();
            }
        }
        self.by_kernel();
        self.guard.note(true);
        self.guard.leave();
    }
}

/// Two threads from some mode on; nothing is lost.
fn explore(mode: u32, calm: u32, first: fn(&World), second: fn(&World)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let world = World::new(mode, calm);
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

#[test]
fn a_row_among_singles() {
    explore(0, 0, two_singles, World::row);
}

#[test]
fn a_single_among_rows() {
    explore(
        0,
        0,
        |world| world.single(1),
        |world| {
            world.row();
            world.row();
        },
    );
}

#[test]
fn instructions_are_allowed_again() {
    explore(1, CALM - 1, two_singles, |world| world.single(1));
}

#[test]
fn and_forbidden_at_once() {
    explore(1, CALM - 1, two_singles, World::row);
}
