//! Notes of the calls that a program makes, for settings that explain what it does (TERN_STALL, TERN_CHECK).
//!
//! Only in mode [`crate::mode::Mode::Observed`], which no short way serves. Otherwise a call costs
//! nothing for it.

use crate::forked;
use crate::guarded::Guarded;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tern_pmi::report::Activity;

/// What this process does, for the launcher to look at.
pub static ACTIVITY: Activity = Activity::new();

thread_local! {
    /// The function that this thread is in; empty outside of MPI.
    static CURRENT: Cell<&'static str> = const { Cell::new("") };
}

/// Whether calls have to be noted.
pub fn is_wanted() -> bool {
    tern_settings::STALL.get() > Duration::ZERO || tern_settings::CHECK.get()
}

/// The MPI function that this thread is in; empty when calls are not noted.
pub fn function() -> &'static str {
    CURRENT.get()
}

/// Counts the calls that are noted.
static CALLS: Guarded<Cell<u64>> = Guarded::new(Cell::new(0));

/// How many calls have begun, while they are noted.
pub fn calls() -> u64 {
    CALLS.get().get()
}

/// A call that is noted, until it is dropped.
pub struct Noted {
    /// The call that this one was made in: callbacks may call MPI.
    before: &'static str,
}

impl Noted {
    /// A call of `function` begins. The caller holds the library's lock.
    pub fn new(function: &'static str) -> Noted {
        let before = CURRENT.replace(function);
        CALLS.get().set(calls() + 1);
        ACTIVITY.note(true, function);
        Noted { before }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let function = CURRENT.replace(self.before);
        ACTIVITY.note(false, function);
    }
}

/// Which function made the object of each handle. It has a lock of its own, for a tool makes objects while the program is in the library.
static MAKERS: Mutex<Option<HashMap<usize, &'static str>>> = Mutex::new(None);

fn makers() -> MutexGuard<'static, Option<HashMap<usize, &'static str>>> {
    MAKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that the function that is being called makes the object of `handle`.
#[inline]
pub fn made(handle: usize) {
    // A child of fork has a lock that may be held for ever.
    if tern_settings::CHECK.get() && !forked::is_child() {
        makers().get_or_insert_default().insert(handle, function());
    }
}

/// The function that has made the object of `handle`; empty if it was not noted.
pub fn maker(handle: usize) -> &'static str {
    if forked::is_child() {
        return "";
    }
    makers().as_ref().and_then(|makers| makers.get(&handle)).copied().unwrap_or("")
}
