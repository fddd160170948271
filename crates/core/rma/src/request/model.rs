//! A request under loom: it is done once, by the owner or by the origin, and never by both at once; also where one of the two ends at some step.

use super::{Outcome, State};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use tern_atomics::{AtomicU32, Ordering};

struct World {
    state: State,
    /// What is asked, and the memory that it is about. Loom finds accesses that meet.
    operand: UnsafeCell<u32>,
    memory: UnsafeCell<u32>,
    /// The kernel has given up what it holds for a lost member, of which nothing comes any more.
    gone: AtomicU32,
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
        self.await_outcome();
    }

    fn has_gone(&self) -> bool {
        // Acquire: pairs with the release in `end`.
        self.gone.load(Ordering::Acquire) != 0
    }

    fn end(&self) {
        // Release: pairs with the acquire in `has_gone`.
        self.gone.store(1, Ordering::Release);
    }

    /// As `Request::await_outcome`, of a request that the owner has taken: until it has answered, or has ended.
    fn await_outcome(&self) {
        while self.state.outcome().is_none() && !self.has_gone() {
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
        let world = Arc::new(World { state: State(AtomicU32::new(0)), operand, memory, gone: AtomicU32::new(0) });
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

fn new() -> Arc<World> {
    let (operand, memory) = (UnsafeCell::new(0), UnsafeCell::new(0));
    Arc::new(World { state: State(AtomicU32::new(0)), operand, memory, gone: AtomicU32::new(0) })
}

/// An origin that has asked ends at some step. Whoever enters the guard in its place asks for nothing before that request is over.
#[test]
fn a_request_of_a_lost_origin_is_over_before_the_next_one() {
    for steps in 0..3 {
        loom::model(move || {
            let world = new();
            let owner = world.clone();
            let owner = thread::spawn(move || (0..2).for_each(|_| owner.look()));
            if steps > 0 {
                world.operand.with_mut(|at| unsafe { *at = 1 });
            }
            if steps > 1 {
                world.state.ask();
            }
            // It is lost here, and this is another one, which has entered in its place: as `Window::enter_for_lost`.
            if world.state.is_under_way() && !world.state.take_back() {
                while world.state.outcome().is_none() {
                    thread::yield_now();
                }
            }
            world.ask(2);
            owner.join().unwrap();
            let memory = world.memory.with(|at| unsafe { *at });
            assert!(memory == 2 || (steps > 1 && memory == 3), "{memory}");
        });
    }
}

/// An owner ends at some step of its answer: the origin does not wait for it.
#[test]
fn an_owner_that_is_lost_is_not_waited_for() {
    for steps in 0..3 {
        loom::model(move || {
            let world = new();
            let owner = world.clone();
            let owner = thread::spawn(move || {
                if steps > 0 && owner.state.take() && steps > 1 {
                    owner.add(owner.operand.with(|at| unsafe { *at }));
                }
                owner.end();
            });
            world.operand.with_mut(|at| unsafe { *at = 1 });
            world.state.ask();
            if !world.state.take_back() {
                world.await_outcome();
                assert!(world.has_gone() && world.state.outcome().is_none());
            }
            owner.join().unwrap();
        });
    }
}
