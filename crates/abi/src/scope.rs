//! The object whose error handler takes an error.

use std::rc::Rc;
use tern_mpi::error::Error;
use tern_mpi::lookup;
use tern_mpi::objects::{Comm, Session, objects};

#[derive(Clone)]
pub enum Scope {
    None,
    Comm(Rc<Comm>),
    Session(Rc<Session>),
}

#[cold]
pub fn raise(_scope: Scope, function: &str, error: Box<Error>) -> i32 {
    eprintln!("tern: {function}: {}", error.message);
    error.code
}

#[cold]
pub fn comm(handle: usize) -> Scope {
    lookup::comm(handle).map_or(Scope::None, Scope::Comm)
}

#[cold]
pub fn session(handle: usize) -> Scope {
    lookup::session(handle).map_or(Scope::None, Scope::Session)
}

#[cold]
pub fn request(handle: usize) -> Scope {
    let requests = objects().requests.borrow();
    requests.get(handle).and_then(|request| request.comm()).cloned().map_or(Scope::None, Scope::Comm)
}

#[cold]
pub fn message(handle: usize) -> Scope {
    let messages = objects().messages.borrow();
    messages.get(handle).map_or(Scope::None, |message| Scope::Comm(message.comm.clone()))
}

#[cold]
pub fn win(_handle: usize) -> Scope {
    Scope::None
}

#[cold]
pub fn file(_handle: usize) -> Scope {
    Scope::None
}
