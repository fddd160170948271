//! What faces need of the core and the standard has no function for (`tern_table::core`).

use crate::face::{self, Handle, Ptr};
use std::ffi::{CStr, c_char, c_int};
use tern_memory::Lack;
use tern_mpi::args::Out;
use tern_mpi::constants::{MPI_COMM_NULL, MPI_ERR_ARG, MPI_SUCCESS};
use tern_mpi::errhandler;
use tern_mpi::error::{Error, Result, no_memory};
use tern_mpi::objects::user_function::{Stated, StatedFunction};
use tern_mpi::op;
use tern_mpi::request::around::{Around, Step, put_around};
use tern_mpi::scope::{ErrhandlerKind, Scope};
use tern_mpi::stated::{Release, State};
use tern_mpi::topology::degrees;
use tern_mpi::{comm, enter, enter_any_time};

/// Where a function is.
pub struct At(pub *const ());
// SAFETY: an address, which nobody follows.
unsafe impl Sync for At {}

/// At load: the core learns what the functions are that programs call, and notices forks.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn tell() {
        tern_mpi::forked::watch();
        tern_mpi::lack::name_calls(|at| {
            crate::entries::NAMED.iter().find(|row| row.0.0 as usize == at).map(|row| row.1)
        });
    }
    tell
};

/// Ends the job for a library beside this one (a face, or one of Fortran procedures) that cannot have `bytes` bytes of memory.
#[unsafe(no_mangle)]
pub extern "C" fn tern_out_of_memory(bytes: usize) -> ! {
    tern_mpi::lack::lack(bytes)
}

/// MPI_ERR_NO_MEM of a call that such a library cannot convert: on `comm`, or as for calls without a communicator.
///
/// # Safety
/// `function` is a name that is there for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_no_memory(comm: Handle, function: *const c_char, bytes: usize) -> c_int {
    // SAFETY: the caller's.
    let function: &'static CStr = unsafe { CStr::from_ptr(function) };
    let function = function.to_str().unwrap_or("an MPI function");
    let Some(_lock) = enter(function) else { return face::outside(function) };
    let scope = comm::lookup(comm).map_or(Scope::None, Scope::of);
    face::failed(scope, function, no_memory("the arrays of this call, converted", Lack { bytes }))
}

fn ended(function: &str, result: Result<()>) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => face::failed(Scope::None, function, error),
    }
}

/// MPI_Op_create for a function with a state.
pub unsafe extern "C" fn op_create_stated(
    call: StatedFunction, state: Ptr, release: Option<Release>, most: i64, commute: c_int, op: *mut Handle,
) -> c_int {
    let Some(_lock) = enter("MPI_Op_create") else { return face::outside("MPI_Op_create") };
    // SAFETY: the face vouches for the pointers.
    let (state, op) = unsafe { (State::new(state, release), Out::new(op)) };
    ended("MPI_Op_create", op::create_stated(Stated { call, state, most }, commute != 0, op))
}

/// MPI_Comm_create_errhandler and its like for a function with a state.
pub unsafe extern "C" fn errhandler_create_stated(
    kind: c_int, call: unsafe extern "C" fn(Ptr, *mut Handle, *mut c_int), state: Ptr, release: Option<Release>,
    errhandler: *mut Handle,
) -> c_int {
    let kinds = [
        (ErrhandlerKind::Comm, "MPI_Comm_create_errhandler"),
        (ErrhandlerKind::Win, "MPI_Win_create_errhandler"),
        (ErrhandlerKind::File, "MPI_File_create_errhandler"),
        (ErrhandlerKind::Session, "MPI_Session_create_errhandler"),
    ];
    // SAFETY: the face vouches for the pointers.
    let (state, errhandler) = unsafe { (State::new(state, release), Out::new(errhandler)) };
    let Some(&(kind, function)) = usize::try_from(kind).ok().and_then(|at| kinds.get(at)) else {
        let error = Error::new(MPI_ERR_ARG, format!("there are no error handlers of kind {kind}"));
        return face::failed(Scope::None, "MPI_Comm_create_errhandler", error);
    };
    let _lock = match kind {
        ErrhandlerKind::Session => Some(enter_any_time()),
        _ => enter(function),
    };
    if _lock.is_none() {
        return face::outside(function);
    }
    ended(function, errhandler::create_stated(kind, call, state, errhandler))
}

/// Steps around each round of a request.
pub unsafe extern "C" fn request_around(
    request: Handle, before: Option<Step>, after: Step, state: Ptr, release: Option<Release>,
) -> c_int {
    // SAFETY: the caller vouches for the pointers.
    let state = unsafe { State::new(state, release) };
    let Some(_lock) = enter("MPI_Request_get_status") else { return face::outside("MPI_Request_get_status") };
    ended("MPI_Request_get_status", put_around(request, Around { before, after, state }))
}

/// How many processes a communicator's collectives speak with, or -1.
pub unsafe extern "C" fn peers(handle: Handle) -> i64 {
    let Some(_lock) = known(handle) else { return -1 };
    comm::lookup(handle).map_or(-1, |comm| i64::from(comm.target().size()))
}

/// How many neighbours a process has, or -1 each.
pub unsafe extern "C" fn neighbors(handle: Handle, sources: *mut i64, destinations: *mut i64) {
    let found = known(handle).and_then(|_lock| degrees(&*comm::lookup(handle).ok()?));
    let (from, to) = found.map_or((-1, -1), |(from, to)| (from as i64, to as i64));
    // SAFETY: the face gives addresses of its own.
    unsafe {
        *sources = from;
        *destinations = to;
    }
}

/// The process's own rank, or -1.
pub unsafe extern "C" fn own_rank(handle: Handle) -> c_int {
    let Some(_lock) = known(handle) else { return -1 };
    comm::lookup(handle).map_or(-1, |comm| comm.rank as c_int)
}

/// How many error codes this thread's last spawn has filled in.
pub unsafe extern "C" fn spawn_codes() -> i64 {
    tern_mpi::process::spawn::codes_filled_in() as i64
}

/// Held while a communicator is looked at; `None` where there can be none.
fn known(handle: Handle) -> Option<tern_mpi::enter::Guard> {
    if handle == MPI_COMM_NULL { None } else { enter("MPI_Comm_size") }
}
