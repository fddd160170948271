//! The face of the standard ABI: from C values to the core's, and back.
//!
//! The core's own values are the standard ABI's (MPI 5.0 chapter 20), so here nearly every
//! conversion is the identity. A second binary interface over the same tables is another module
//! with these names: other handles, other constants, another layout of a status.

use std::ffi::{c_int, c_void};
use tern_mpi::args::{OutArray, RawStatus, StatusOut, StatusesOut, Weights};
use tern_mpi::constants::*;
use tern_mpi::errhandler::raise;
use tern_mpi::error::Error;
use tern_mpi::forked;
use tern_mpi::last_error::remember;
use tern_mpi::scope::Scope;

/// A handle: in C a pointer to an incomplete struct, whose value the library chooses.
pub type Handle = usize;

/// Any pointer of the program's.
pub type Ptr = *mut c_void;

macro_rules! handles {
    ($($name:ident)*) => { $(
        #[inline(always)]
        pub fn $name(handle: Handle) -> usize {
            handle
        }
    )* };
}
handles!(comm group datatype op errhandler info request win file session);

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(value: c_int) -> i32 {
            value
        }
    )* };
}
constants! {
    /// Ranks with MPI_ANY_SOURCE, MPI_PROC_NULL, MPI_ROOT.
    rank
    /// Tags with MPI_ANY_TAG.
    tag
    keyval
    thread_level
    /// Error classes and codes that the program gives.
    code_in
    /// Error classes and codes that the program gets.
    code_out
    /// Constants that are the same in all known interfaces, or whose kind tells no more.
    value
}

/// A buffer's address, with MPI_BOTTOM, MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC.
#[inline(always)]
pub fn buffer(address: Ptr) -> *mut u8 {
    address.cast()
}

#[inline(always)]
pub fn is_in_place(address: Ptr) -> bool {
    address as usize == MPI_IN_PLACE
}

/// Weights of edges with MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY.
///
/// # Safety
/// `array` is one of these or valid for as many ints as the function reads.
pub unsafe fn weights(array: Ptr) -> Weights {
    match array as usize {
        MPI_UNWEIGHTED => Weights::Unweighted,
        MPI_WEIGHTS_EMPTY => Weights::Empty,
        // SAFETY: passed on to the caller.
        _ => Weights::Given(unsafe { tern_mpi::args::Counts::new(array.cast(), false) }),
    }
}

/// Where weights go; `None` for MPI_UNWEIGHTED.
///
/// # Safety
/// As for [`weights`], for writes.
pub unsafe fn weights_out(array: Ptr) -> Option<OutArray<i32>> {
    // SAFETY: passed on to the caller.
    (array as usize != MPI_UNWEIGHTED).then(|| unsafe { OutArray::new(array.cast()) })
}

/// # Safety
/// `status` is MPI_STATUS_IGNORE or valid for reads and writes of a status.
#[inline(always)]
pub unsafe fn status(status: Ptr) -> StatusOut {
    // SAFETY: passed on to the caller.
    unsafe { StatusOut::new(status.cast::<RawStatus>()) }
}

/// # Safety
/// `statuses` is MPI_STATUSES_IGNORE or valid for as many statuses as the function writes.
#[inline(always)]
pub unsafe fn statuses(statuses: Ptr) -> StatusesOut {
    // SAFETY: passed on to the caller.
    unsafe { StatusesOut::new(statuses.cast::<RawStatus>()) }
}

/// An error of the core: to the error handler; gives what the C function returns.
#[cold]
pub fn failed(scope: Scope, function: &str, error: Box<Error>) -> c_int {
    code_out(raise(scope, function, error))
}

/// The same of the tool interface, whose functions have no error handler (MPI 5.0 section 15.3.10).
#[cold]
pub fn tool_failed(function: &str, error: Box<Error>) -> c_int {
    remember(function, &error);
    error.code
}

/// A call before initialization or after finalization (MPI 5.0 section 11.4), or in the child of a fork.
#[cold]
pub fn outside(function: &str) -> c_int {
    outside_of(Scope::None, function)
}

/// The same for a call that got the error handler of what it was to make.
#[cold]
pub fn outside_of(scope: Scope, function: &str) -> c_int {
    let message = "MPI is not initialized, or already finalized: call it between MPI_Init (or \
                   MPI_Session_init) and MPI_Finalize (or MPI_Session_finalize)";
    match forked::answer(function) {
        Some(Ok(())) => MPI_SUCCESS,
        Some(Err(refused)) => failed(scope, function, refused),
        None => failed(scope, function, Error::new(MPI_ERR_OTHER, message)),
    }
}
