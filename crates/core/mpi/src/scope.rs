//! Which object is in charge of an error, and what its error handler does (MPI 5.0 section 9.3).
//!
//! Objects of four kinds have error handlers. They lie above errors, which only know that they are [`InCharge`].

use crate::stated::State;
use std::cell::Cell;
use std::rc::Rc;

/// What an error handler does.
#[derive(Clone, Debug)]
pub enum OnError {
    /// Ends all processes of the job.
    Fatal,
    /// Ends the processes of the communicator.
    Abort,
    Return,
    /// The user's function for communicators, windows, files or sessions; its C signature is
    /// `void (handle *, int *, ...)` in all of them.
    User(ErrhandlerKind, UserErrhandler),
    /// The same of another binary interface.
    Stated(ErrhandlerKind, StatedErrhandler, State),
}

/// `void (MPI_Comm *, int *, ...)`: called with two arguments.
pub type UserErrhandler = unsafe extern "C" fn(*mut usize, *mut i32, ...);

/// `void (void *state, handle *, int *)`
pub type StatedErrhandler = unsafe extern "C" fn(*mut std::ffi::c_void, *mut usize, *mut i32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrhandlerKind {
    Comm,
    Win,
    File,
    Session,
}

#[derive(Debug)]
pub struct Errhandler {
    pub handle: Cell<usize>,
    /// References that programs hold: MPI_Errhandler_free gives up one (MPI 5.0 section 9.3.4).
    pub references: Cell<u32>,
    pub action: OnError,
}

/// An object whose error handler is in charge of the errors of calls with it.
pub trait InCharge {
    /// The handle that its error handler gets.
    fn handle(&self) -> usize;
    /// Its error handler now.
    fn errhandler(&self) -> Rc<Errhandler>;
    /// Which process of which object this one is, for messages: " in rank 1 of grid (size 4)". None: the object says nothing of it.
    fn place(&self) -> Option<String> {
        None
    }
    /// A call of `function` (`MPI_Gather`) was refused before it had begun, and nobody has been told.
    fn refused(&self, _function: &str) {}
}

/// Which object a call that failed belongs to.
#[derive(Clone)]
pub enum Scope {
    /// None, or one that could not be told: MPI_COMM_SELF's handler decides (section 9.3).
    None,
    /// MPI_FILE_NULL, for calls that have no file yet (section 14.7).
    NoFile,
    Object(Rc<dyn InCharge>),
}

impl Scope {
    /// That of an object.
    pub fn of(object: Rc<impl InCharge + 'static>) -> Scope {
        Scope::Object(object)
    }
}
