//! Entering the library: is MPI up, the library's lock, and what a call has to do besides in rare modes.

use crate::mode::{EVENTS, MODE, Mode};
use crate::observe::Noted;
use std::sync::atomic::Ordering;
use tern_mcm::lock;

/// Held while a call is inside the library.
#[allow(dead_code, reason = "held, not read")]
pub enum Guard {
    Free,
    Locked(lock::Entered),
    Observed(Noted, Option<lock::Entered>),
}

/// Begins a call of `function` that needs MPI to be up; `None` when it is not.
#[inline(always)]
pub fn enter(function: &'static str) -> Option<Guard> {
    match MODE.load(Ordering::Relaxed) {
        mode if mode == Mode::Single as u8 => Some(Guard::Free),
        mode if mode == Mode::Down as u8 => None,
        mode => Some(enter_slowly(mode, function)),
    }
}

/// In the other modes.
#[cold]
fn enter_slowly(mode: u8, function: &'static str) -> Guard {
    let lock = lock::enabled().then(lock::enter_locked);
    if EVENTS.load(Ordering::Relaxed) {
        // Nothing of the core is borrowed here.
        crate::tool::hand_on();
    }
    match lock {
        lock if mode == Mode::Observed as u8 => {
            let noted = Noted::new(function);
            crate::stall::called(function);
            crate::check::called(function);
            Guard::Observed(noted, lock)
        }
        Some(lock) => Guard::Locked(lock),
        None => Guard::Free,
    }
}

/// Begins a call that may come at any time, from any thread.
#[inline]
pub fn enter_any_time() -> Guard {
    let mode = MODE.load(Ordering::Relaxed);
    if [Mode::Single, Mode::Events, Mode::Revoked].map(|mode| mode as u8).contains(&mode) {
        Guard::Free
    } else {
        locked()
    }
}

#[cold]
fn locked() -> Guard {
    Guard::Locked(lock::enter_locked())
}
