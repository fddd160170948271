//! What an origin asks, and how long it waits for an answer.

use super::{Outcome, State};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes of elements in a request at most; the first 32 lie on the line of the rest.
pub const ROOM: usize = 224;
/// Looks for an owner that takes a request.
const LOOKS: u32 = 50;
/// Looks for the answer of one that has taken it, before others are let on this core.
const SPINS: u32 = 4000;
/// Then looks, until it is asked whether its process is still there.
const YIELDS: u32 = 200;

/// What is done with the elements of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// They are combined with the target's.
    Combine = 0,
    /// The same; what was there before takes their place.
    Fetch = 1,
    /// The first one is compared with the target's, which becomes the second if they are equal; what was there takes their
    /// place. The count is that of the bytes of one.
    Swap = 2,
    /// As `Combine`; they lie in the memory of the origin.
    Far = 3,
}

impl Form {
    pub fn of(code: u8) -> Form {
        [Form::Combine, Form::Fetch, Form::Swap, Form::Far][code as usize % 4]
    }
}

/// What an owner is asked: to combine elements with those of its memory. The answer to a short request comes by the same line:
/// by one of its own it took half as long again where that was measured.
#[repr(C, align(128))]
pub struct Request {
    pub state: State,
    /// Rank that asks, where that is needed.
    pub origin: AtomicU32,
    /// Operation, basic type, form: a byte each; the number of elements above 32.
    pub what: AtomicU64,
    pub address: AtomicU64,
    /// Of elements that lie in the memory of the origin.
    pub operand: AtomicU64,
    /// The operands, then the old values.
    pub elements: UnsafeCell<[u8; ROOM]>,
}

const _: () = assert!(size_of::<Request>() == 256);

/// How a wait for an owner has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    Answered(Outcome),
    /// It has not taken the request, which has been taken back.
    Silent,
    /// Its process has ended since it took it.
    Gone,
}

impl Request {
    /// Where its elements begin.
    pub fn elements(&self) -> *mut u8 {
        self.elements.get().cast()
    }

    /// Of a request that is asked.
    pub fn form(&self) -> Form {
        let [_, _, form, ..] = self.what.load(Ordering::Relaxed).to_le_bytes();
        Form::of(form)
    }

    /// Waits for an answer. `is_there`: whether the owner's process is, which costs a system call.
    pub fn await_outcome(&self, is_there: impl Fn() -> bool) -> Waited {
        let state = &self.state;
        let look = |times: u32| {
            (0..times).find_map(|_| {
                state.outcome().or_else(|| {
                    tern_atomics::spin_loop();
                    None
                })
            })
        };
        if let Some(outcome) = look(LOOKS) {
            return Waited::Answered(outcome);
        }
        if state.take_back() {
            return Waited::Silent;
        }
        // The owner is at it. It waits for nothing, but may have lost its core.
        if let Some(outcome) = look(SPINS) {
            return Waited::Answered(outcome);
        }
        let mut looks = 0u32;
        loop {
            tern_atomics::yield_now();
            if let Some(outcome) = state.outcome() {
                return Waited::Answered(outcome);
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(YIELDS) && !is_there() {
                // It may have finished before it ended.
                return state.outcome().map_or(Waited::Gone, Waited::Answered);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn request() -> Request {
        Request {
            state: State(Default::default()),
            origin: AtomicU32::new(0),
            what: AtomicU64::new(0),
            address: AtomicU64::new(0),
            operand: AtomicU64::new(0),
            elements: UnsafeCell::new([0; ROOM]),
        }
    }

    #[test]
    fn an_owner_that_does_not_look_is_not_waited_for() {
        let request = request();
        request.state.ask();
        assert_eq!(request.await_outcome(|| unreachable!("it has taken nothing")), Waited::Silent);
        assert!(!request.state.take(), "taken back");
    }

    #[test]
    fn an_owner_that_ends_with_a_request_is_gone() {
        let request = request();
        request.state.ask();
        assert!(request.state.take());
        assert_eq!(request.await_outcome(|| false), Waited::Gone);
    }

    #[test]
    fn an_owner_that_answers_before_it_ends_has_answered() {
        let request = request();
        request.state.ask();
        assert!(request.state.take());
        let last = || {
            request.state.finish(Outcome::Done);
            false
        };
        assert_eq!(request.await_outcome(last), Waited::Answered(Outcome::Done));
    }

    #[test]
    fn an_owner_that_is_slow_is_waited_for() {
        let (request, asked) = (request(), Cell::new(0));
        request.state.ask();
        assert!(request.state.take());
        let later = || {
            asked.set(asked.get() + 1);
            if asked.get() == 5 {
                request.state.finish(Outcome::Unable);
            }
            true
        };
        assert_eq!(request.await_outcome(later), Waited::Answered(Outcome::Unable));
    }
}
