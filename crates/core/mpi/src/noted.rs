//! What calls wait or look for in vain, where no transfer of the engine says so: for who calls those that this process waits for.

use crate::guarded::Guarded;
use std::cell::{Cell, RefCell};
use tern_adi::Awaited;

/// Most waits that are noted between two times that somebody takes them.
const NOTED: usize = 64;

struct State {
    is_on: Cell<bool>,
    all: RefCell<Vec<Awaited>>,
}

static STATE: Guarded<State> = Guarded::new(State { is_on: Cell::new(false), all: RefCell::new(Vec::new()) });

/// From now on it is noted.
pub fn start() {
    STATE.get().is_on.set(true);
}

/// Whether it is noted.
pub fn is_on() -> bool {
    STATE.get().is_on.get()
}

/// A call has looked for that in vain.
#[inline]
pub fn note(awaited: impl FnOnce() -> Awaited) {
    if is_on() {
        keep(awaited());
    }
}

fn keep(awaited: Awaited) {
    // Transfers are known to the engine.
    let is_alone = !matches!(awaited, Awaited::Own | Awaited::Transfers(_) | Awaited::Any(_));
    let mut all = STATE.get().all.borrow_mut();
    if is_alone && all.len() < NOTED && !all.contains(&awaited) {
        all.push(awaited);
    }
}

/// What was noted since the last call.
pub fn take() -> Vec<Awaited> {
    STATE.get().all.take()
}
