//! Which lines a thread has looked at and published: for tests that count how many cross a border of the machine, without a clock,
//! and for a model that replays them on a made-up machine.

use std::cell::RefCell;

/// What a thread did with a turn's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// It has seen the turn or its label.
    Look,
    /// It has read the payload.
    Read,
    /// It has written the payload, as the owner.
    Write,
    /// It has published the turn, as the owner.
    Publish,
}

/// One look at what an owner has published, or one thing that the owner did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// [`super::ControlSlots::memory`] of the area.
    pub area: usize,
    /// The turn.
    pub turn: u64,
    /// Bytes of its payload that were read or written; 0 for the turn and its label.
    pub bytes: usize,
    /// What was done.
    pub act: Act,
}

thread_local! {
    static LOOKS: RefCell<Option<Vec<Look>>> = const { RefCell::new(None) };
}

/// Gives the looks of this thread since the last call, and notes those from now on, if `on`.
pub fn looks(on: bool) -> Vec<Look> {
    LOOKS.replace(on.then(Vec::new)).unwrap_or_default()
}

pub(super) fn note(area: *mut u8, turn: u64, bytes: usize, act: Act) {
    LOOKS.with_borrow_mut(|looks| {
        if let Some(looks) = looks {
            looks.push(Look { area: area as usize, turn, bytes, act });
        }
    });
}
