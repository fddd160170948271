//! What MPICH's library exports beside the functions of the standard.

#![allow(non_upper_case_globals, non_snake_case)]

use std::ffi::c_int;
use tern_face::types::Ptr;

/// An address that a header declares as an object.
#[repr(transparent)]
pub struct Address(usize);

/// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are objects here; their values are those of the standard ABI.
#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Address = Address(10);
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Address = Address(11);

/// All performance variables of a session (MPI 5.0 section 15.3.7).
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: Address = Address(1);

/// MPI_DUP_FN and its like: copies an attribute as it is.
///
/// # Safety
/// The core calls it as MPI asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int, _keyval: c_int, _extra_state: Ptr, value: Ptr, new: *mut Ptr, flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        *new = value;
        *flag = 1;
    }
    0
}

/// Whether the library moves memory of graphics cards: it does not.
///
/// # Safety
/// `is_supported` is null or a place for an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIX_GPU_query_support(_gpu_type: c_int, is_supported: *mut c_int) -> c_int {
    if !is_supported.is_null() {
        // SAFETY: the caller's.
        unsafe { *is_supported = 0 }
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn MPIX_Query_ze_support() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn MPIX_Query_hip_support() -> c_int {
    0
}
