//! A request under loom: it is done once, by the owner or by the origin, and never by both at once.

use super::{Outcome, State};
use crate::atomics::AtomicU32;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

struct World {
    state: State,
    /// What is asked, and the memory that it is about. Loom finds accesses that meet.
    operand: UnsafeCell<u32>,
    memory: UnsafeCell<u32>,
}

// SAFETY: the cells are only touched by whom the state allows to, which is what is tested here.
unsafe impl Sync for World {}

impl World {
    fn add(&self, value: u32) {
        self.memory.with_mut(|at| unsafe { *at += value });
    }

    fn ask(&self, value: u32) {
        self.operand.with_mut(|at| unsafe { *at = value });
        self.state.ask();
        thread::yield_now();
        if self.state.outcome().is_some() {
            return;
        }
        if self.state.take_back() {
            return self.add(value);
        }
        while self.state.outcome().is_none() {
            thread::yield_now();
        }
    }

    fn look(&self) {
        if self.state.take() {
            self.add(self.operand.with(|at| unsafe { *at }));
            self.state.finish(Outcome::Done);
        }
    }
}

/// One asks twice, the other looks a few times.
fn explore(looks: usize) {
    loom::model(move || {
        let (operand, memory) = (UnsafeCell::new(0), UnsafeCell::new(0));
        let world = Arc::new(World { state: State(AtomicU32::new(0)), operand, memory });
        let owner = world.clone();
        let owner = thread::spawn(move || (0..looks).for_each(|_| owner.look()));
        world.ask(1);
        world.ask(2);
        world.memory.with(|at| assert_eq!(unsafe { *at }, 3));
        owner.join().unwrap();
    });
}

#[test]
fn a_request_is_done_once() {
    explore(1);
}

#[test]
fn two_requests_are_done_once_each() {
    explore(2);
}
