//! From a handle to its object. Predefined handles lie below 4096 and are found by index.

use crate::constants::*;
use crate::guarded::Guarded;
use crate::objects::{Comm, Errhandler, Group, Info, Operation, Session, objects};
use std::cell::RefCell;
use std::rc::Rc;

/// Objects of one kind whose handles follow one another from `first`.
struct Predefined<T, const N: usize> {
    first: usize,
    slots: [RefCell<Option<Rc<T>>>; N],
}

impl<T, const N: usize> Predefined<T, N> {
    const fn new(first: usize) -> Predefined<T, N> {
        Predefined { first, slots: [const { RefCell::new(None) }; N] }
    }

    /// `None` when `handle` is not in the range; `Some(None)` when nothing is there.
    #[inline(always)]
    fn get(&self, handle: usize) -> Option<Option<Rc<T>>> {
        self.slots.get(handle.wrapping_sub(self.first)).map(|slot| slot.borrow().clone())
    }

    fn set(&self, handle: usize, object: Option<Rc<T>>) {
        self.slots[handle - self.first].replace(object);
    }
}

static COMMS: Guarded<Predefined<Comm, 3>> = Guarded::new(Predefined::new(MPI_COMM_NULL));

/// Makes `comm` what the predefined `handle` names, or nothing again.
pub fn set_comm(handle: usize, comm: Option<Rc<Comm>>) {
    COMMS.get().set(handle, comm);
}

/// The communicator that `handle` names.
#[inline(always)]
pub fn comm(handle: usize) -> Option<Rc<Comm>> {
    match COMMS.get().get(handle) {
        Some(found) => found,
        None => objects().comms.borrow().get(handle).cloned(),
    }
}

/// The operation that `handle` names.
#[inline(always)]
pub fn op(handle: usize) -> Option<Rc<Operation>> {
    objects().ops.borrow().get(handle).cloned()
}

/// The group that `handle` names.
pub fn group(handle: usize) -> Option<Rc<Group>> {
    objects().groups.borrow().get(handle).cloned()
}

/// The info object that `handle` names.
pub fn info(handle: usize) -> Option<Rc<Info>> {
    objects().infos.borrow().get(handle).cloned()
}

/// The error handler that `handle` names.
pub fn errhandler(handle: usize) -> Option<Rc<Errhandler>> {
    objects().errhandlers.borrow().get(handle).cloned()
}

/// The session that `handle` names.
pub fn session(handle: usize) -> Option<Rc<Session>> {
    objects().sessions.borrow().get(handle).cloned()
}
