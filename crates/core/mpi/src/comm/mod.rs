//! Communicators: what they are asked, and their end (MPI 5.0 sections 7.4 and 7.6). How they
//! are made is in [`crate::comm::create`].

pub mod arrive;
pub mod create;
pub mod hardware;
pub mod hints;
pub mod intercomm;
pub mod split;

use crate::args::{Out, TextOut};
use crate::attribute;
use crate::constants::*;
use crate::errhandler::raise_now;
use crate::error::Result;
use crate::objects::{Comm, objects};
use crate::runtime::adi;
use crate::scope::Scope;
use std::rc::Rc;

use crate::objects::comm::forget_parent;
pub use crate::objects::comm::{find, hand_out, install, lookup, uninstall};
pub use hints::{comm_get_info, comm_set_info};

/// Called when a communicator is being freed, by all its processes. None waits for another, which may depend on what
/// this one does next; the id is not used again before all have come.
pub fn on_free(comm: &Comm) {
    crate::collective::request::leave(comm);
    comm.id.leave(comm.peers.leave(adi()));
}

/// MPI_Comm_size
pub fn comm_size(comm: Rc<Comm>, size: Out<i32>) -> Result<()> {
    size.set(comm.size());
    Ok(())
}

/// MPI_Comm_rank
pub fn comm_rank(comm: Rc<Comm>, rank: Out<i32>) -> Result<()> {
    rank.set(comm.rank);
    Ok(())
}

/// MPI_Comm_test_inter
pub fn comm_test_inter(comm: Rc<Comm>, flag: Out<i32>) -> Result<()> {
    flag.set(comm.is_inter() as i32);
    Ok(())
}

/// MPI_Comm_remote_size
pub fn comm_remote_size(comm: Rc<Comm>, size: Out<i32>) -> Result<()> {
    let Some(remote) = &comm.remote else {
        return err!(MPI_ERR_COMM, "{} has no remote group: it is an intracommunicator", comm.label());
    };
    size.set(remote.size());
    Ok(())
}

/// MPI_Comm_compare
pub fn comm_compare(comm1: Rc<Comm>, comm2: Rc<Comm>, result: Out<i32>) -> Result<()> {
    result.set(compare(&comm1, &comm2));
    Ok(())
}

fn compare(a: &Rc<Comm>, b: &Rc<Comm>) -> i32 {
    if Rc::ptr_eq(a, b) {
        return MPI_IDENT;
    }
    let local = a.local.compare(&b.local);
    let remote = match (&a.remote, &b.remote) {
        (None, None) => MPI_IDENT,
        (Some(a), Some(b)) => a.compare(b),
        _ => MPI_UNEQUAL,
    };
    match (local, remote) {
        (MPI_IDENT, MPI_IDENT) => MPI_CONGRUENT,
        (MPI_UNEQUAL, _) | (_, MPI_UNEQUAL) => MPI_UNEQUAL,
        _ => MPI_SIMILAR,
    }
}

/// MPI_Comm_set_name
pub fn comm_set_name(comm: Rc<Comm>, name: &str) -> Result<()> {
    *comm.name.borrow_mut() = name.to_owned();
    Ok(())
}

/// MPI_Comm_get_name: MPI_COMM_NULL has a name too (section 7.8).
pub fn comm_get_name(comm: usize, name: TextOut, resultlen: Out<i32>) -> Result<()> {
    let text = match comm {
        MPI_COMM_NULL => "MPI_COMM_NULL".to_owned(),
        _ => lookup(comm)?.name.borrow().clone(),
    };
    resultlen.set(name.set(&text, MPI_MAX_OBJECT_NAME));
    Ok(())
}

/// MPI_Comm_free. The communicator lives on until what it carries is complete.
pub fn comm_free(comm: Out<usize>) -> Result<()> {
    let found = lookup_freeable(comm.get())?;
    attribute::delete_all(&found.attributes, comm.get())?;
    forget(found, comm);
    Ok(())
}

/// MPI_Comm_disconnect: as free, after what this process has under way there is complete and all processes
/// have arrived (section 11.10.4).
pub fn comm_disconnect(comm: Out<usize>) -> Result<()> {
    let found = lookup_freeable(comm.get())?;
    attribute::delete_all(&found.attributes, comm.get())?;
    crate::check::meet(&found)?;
    let owner: tern_adi::Owner = found.clone();
    adi().wait_until(&mut || !adi().is_under_way(&owner));
    drop(owner);
    let circle = found.circle();
    // An error is told while the communicator is there, whose error handler is in charge.
    let met = crate::task::run(async move { circle.meet().await })
        .map_err(|error| raise_now(Scope::of(found.clone()), "MPI_Comm_disconnect", error));
    if met.is_ok() {
        found.id.meet();
    }
    forget(found, comm);
    met
}

fn lookup_freeable(handle: usize) -> Result<Rc<Comm>> {
    let comm = lookup(handle)?;
    if let MPI_COMM_WORLD | MPI_COMM_SELF = handle {
        return err!(MPI_ERR_COMM, try "", "{} is predefined and cannot be freed", comm.label());
    }
    Ok(comm)
}

fn forget(comm: Rc<Comm>, handle: Out<usize>) {
    crate::objects::pool::release(&comm.buffer);
    on_free(&comm);
    forget_parent(&comm);
    objects().comms.borrow_mut().remove(handle.get());
    handle.set(MPI_COMM_NULL);
    drop(comm);
    // If that was the last one with these processes, what it shares with them goes.
    crate::bridge::sweep();
}
