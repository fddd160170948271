//! Receives that were complete when they started: only their status is kept until the program asks for it,
//! and the engine knows nothing of them any more.

use crate::guarded::Guarded;
use crate::handle::{Kind, Table, decode};
use std::cell::RefCell;
use tern_adi::Status;

static FINISHED: Guarded<RefCell<Table<Status>>> = Guarded::new(RefCell::new(Table::new(Kind::Received)));

/// Keeps the status of a receive without an error; returns the request's handle.
#[inline]
pub fn keep(status: Status) -> usize {
    FINISHED.get().borrow_mut().insert(status)
}

/// The status of the receive that `handle` names, which stays; `None` for other handles, and stale ones.
pub fn find(handle: usize) -> Option<Status> {
    FINISHED.get().borrow().get(handle).copied()
}

/// As [`find`], and the handle is stale from now on.
#[inline]
pub fn end(handle: usize) -> Option<Status> {
    // Most are of another kind, and nothing is looked up for those.
    decode(Kind::Received, handle)?;
    FINISHED.get().borrow_mut().remove(handle)
}

/// The handles of all that are kept.
pub fn handles() -> Vec<usize> {
    FINISHED.get().borrow().handles().collect()
}
