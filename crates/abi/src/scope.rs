//! The object whose error handler takes an error, from the handle that the call was given. Only
//! called when there is an error; a handle that names nothing leaves it to MPI_COMM_SELF's handler
//! (MPI 5.0 section 9.3).

use tern_mpi::errhandler::Scope;
use tern_mpi::objects::objects;

#[cold]
pub fn comm(handle: usize) -> Scope {
    tern_mpi::comm::lookup(handle).map_or(Scope::None, Scope::Comm)
}

#[cold]
pub fn session(handle: usize) -> Scope {
    objects().sessions.borrow().get(handle).map_or(Scope::None, |session| Scope::Session(session.clone()))
}

#[cold]
pub fn request(handle: usize) -> Scope {
    let found = tern_mpi::request::lookup(handle).ok().flatten();
    found.map_or(Scope::None, |request| request.scope())
}

#[cold]
pub fn message(handle: usize) -> Scope {
    let messages = objects().messages.borrow();
    messages.get(handle).map_or(Scope::None, |message| Scope::Comm(message.comm.clone()))
}

#[cold]
pub fn win(handle: usize) -> Scope {
    tern_mpi::win::lookup(handle).map_or(Scope::None, Scope::Win)
}

#[cold]
pub fn file(handle: usize) -> Scope {
    Scope::File(tern_mpi::file::lookup(handle).ok())
}
