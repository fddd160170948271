//! The object whose error handler takes an error, from the handle that the call was given. Only
//! called when there is an error; a handle that names nothing leaves it to MPI_COMM_SELF's handler
//! (MPI 5.0 section 9.3).

use tern_mpi::errhandler::of_unmade;
use tern_mpi::objects::objects;
use tern_mpi::scope::{ErrhandlerKind, Scope};

#[cold]
pub fn comm(handle: usize) -> Scope {
    tern_mpi::comm::lookup(handle).map_or(Scope::None, Scope::of)
}

#[cold]
pub fn session(handle: usize) -> Scope {
    objects().sessions.borrow().get(handle).map_or(Scope::None, |session| Scope::of(session.clone()))
}

#[cold]
pub fn request(handle: usize) -> Scope {
    let found = tern_mpi::request::lookup(handle).ok().flatten();
    found.map_or(Scope::None, |request| request.scope())
}

#[cold]
pub fn message(handle: usize) -> Scope {
    let messages = tern_mpi::request::messages().borrow();
    messages.get(handle).map_or(Scope::None, |message| Scope::of(message.comm.clone()))
}

#[cold]
pub fn win(handle: usize) -> Scope {
    tern_mpi::win::lookup(handle).map_or(Scope::None, Scope::of)
}

#[cold]
pub fn file(handle: usize) -> Scope {
    tern_mpi::file::lookup(handle).map_or(Scope::NoFile, Scope::of)
}

/// A communicator that was to be made with this error handler.
#[cold]
pub fn unmade_comm(errhandler: usize) -> Scope {
    of_unmade(errhandler, ErrhandlerKind::Comm)
}

/// A session that was to be made with this error handler.
#[cold]
pub fn unmade_session(errhandler: usize) -> Scope {
    of_unmade(errhandler, ErrhandlerKind::Session)
}
