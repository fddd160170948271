//! Which lines a thread has looked at: for tests that count how many cross a border of the machine, without a clock.

use std::cell::RefCell;

/// One look at what an owner has published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// [`super::ControlSlots::memory`] of the area.
    pub area: usize,
    /// The turn.
    pub turn: u64,
    /// Bytes of its payload that were read; 0 for a look at the turn and its label.
    pub bytes: usize,
}

thread_local! {
    static LOOKS: RefCell<Option<Vec<Look>>> = const { RefCell::new(None) };
}

/// Gives the looks of this thread since the last call, and notes those from now on, if `on`.
pub fn looks(on: bool) -> Vec<Look> {
    LOOKS.replace(on.then(Vec::new)).unwrap_or_default()
}

pub(super) fn note(area: *mut u8, turn: u64, bytes: usize) {
    LOOKS.with_borrow_mut(|looks| {
        if let Some(looks) = looks {
            looks.push(Look { area: area as usize, turn, bytes });
        }
    });
}
