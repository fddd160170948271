//! The processes that spawned this one (MPI 5.0 section 11.8.1).

use crate::args::Out;
use crate::comm::{self, hand_out};
use crate::constants::*;
use crate::errhandler;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::{Comm, Group};
use crate::process::bridge::Roster;
use crate::process::spawn::family;
use crate::runtime::runtime;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// The intercommunicator with them, until it is freed.
static PARENT: Guarded<RefCell<Weak<Comm>>> = Guarded::new(RefCell::new(Weak::new()));

/// Meets the processes that spawned this one, if any did: they wait for all that they have started.
pub fn meet() -> Result<()> {
    let runtime = runtime();
    let Some(file) = runtime.parents.take() else { return Ok(()) };
    let roster = Roster::read(&file)?;
    let bridge = roster.join(&file)?;
    let local = Group::new((0..runtime.world_size).collect());
    let me = roster.first + runtime.me as usize;
    let made = family(&roster, me, local, errhandler::initial())?;
    drop(bridge); // the group of the parents has it now
    *made.name.borrow_mut() = "MPI_COMM_PARENT".to_owned();
    let parent = comm::lookup(hand_out(made))?;
    PARENT.get().replace(Rc::downgrade(&parent));
    Ok(())
}

/// MPI_Comm_get_parent: MPI_COMM_NULL in a process that was not spawned, and after the communicator was
/// freed or disconnected.
pub fn comm_get_parent(parent: Out<usize>) -> Result<()> {
    let found = PARENT.get().borrow().upgrade().map(|comm| comm.handle.get());
    parent.set(found.filter(|&handle| comm::lookup(handle).is_ok()).unwrap_or(MPI_COMM_NULL));
    Ok(())
}

/// Called when a communicator is freed: it is no longer the parent, though transfers may keep it.
pub fn forget(comm: &Rc<Comm>) {
    let parent = PARENT.get();
    if std::ptr::eq(parent.borrow().as_ptr(), Rc::as_ptr(comm)) {
        parent.replace(Weak::new());
    }
}
