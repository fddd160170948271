//! Notes of the calls that a program makes, for settings that explain what it does (TERN_STALL, TERN_CHECK).
//!
//! Only in mode [`crate::enter::Mode::Observed`], which no short way serves. Otherwise a call costs
//! nothing for it.

use crate::stall;
use std::cell::Cell;
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

/// A call that is noted, until it is dropped.
pub struct Noted {
    /// The call that this one was made in: callbacks may call MPI.
    before: &'static str,
}

impl Noted {
    /// A call of `function` begins. The caller holds the library's lock.
    pub fn new(function: &'static str) -> Noted {
        let before = CURRENT.replace(function);
        ACTIVITY.note(true, function);
        stall::called(function);
        Noted { before }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let function = CURRENT.replace(self.before);
        ACTIVITY.note(false, function);
    }
}
