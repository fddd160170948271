//! Functions that do not fit the common way: no error code, any number of arguments, or nothing
//! to convert. Their C parameters come as they are.

use crate::face::Handle;
use std::ffi::c_int;
use tern_mpi::constants::*;

/// MPI_Aint_add (MPI 5.0 section 5.1.5).
pub unsafe extern "C" fn aint_add(base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

/// MPI_Aint_diff (MPI 5.0 section 5.1.5).
pub unsafe extern "C" fn aint_diff(addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}

/// Nanoseconds of a question for the time, in a model.
const WTIME: u64 = 20;

/// MPI_Wtime (MPI 5.0 section 9.6): seconds since some moment in the past, the same for all
/// processes of a node.
pub unsafe extern "C" fn wtime() -> f64 {
    if let Some(now) = tern_atomics::now() {
        tern_atomics::spend(WTIME);
        return now as f64 * 1e-9;
    }
    let now = clock(libc::clock_gettime, libc::CLOCK_MONOTONIC);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// MPI_Wtick (MPI 5.0 section 9.6).
pub unsafe extern "C" fn wtick() -> f64 {
    let step = clock(libc::clock_getres, libc::CLOCK_MONOTONIC);
    step.tv_sec as f64 + step.tv_nsec as f64 * 1e-9
}

fn clock(
    read: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int, clock: libc::clockid_t,
) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write; the clock exists on every Linux.
    unsafe { read(clock, &mut time) };
    time
}

/// MPI_Pcontrol (MPI 5.0 section 15.2.4): for tools that wrap it. It has further arguments, which
/// nobody reads here. In a model it is where all processes meet, without any cost.
pub unsafe extern "C" fn pcontrol(level: c_int) -> c_int {
    tern_atomics::mark(level);
    MPI_SUCCESS
}

/// Handles as ints and back (MPI 5.0 section 20.4). Handles of up to a million objects of a kind fit
/// an int; see `tern_mpi::handle`.
macro_rules! ints {
    ($($to:ident $from:ident)*) => { $(
        pub unsafe extern "C" fn $to(handle: Handle) -> c_int {
            handle as c_int
        }
        pub unsafe extern "C" fn $from(value: c_int) -> Handle {
            value as u32 as Handle
        }
    )* };
}
ints! {
    comm_toint comm_fromint
    group_toint group_fromint
    type_toint type_fromint
    op_toint op_fromint
    errhandler_toint errhandler_fromint
    info_toint info_fromint
    request_toint request_fromint
    message_toint message_fromint
    win_toint win_fromint
    file_toint file_fromint
    session_toint session_fromint
}
