//! What Open MPI's library exports beside the functions of the standard.

#![allow(non_upper_case_globals, non_snake_case)]

use std::ffi::c_int;
use tern_face::types::Ptr;

/// Functions behind MPI_NULL_COPY_FN, MPI_DUP_FN and MPI_NULL_DELETE_FN of each kind of object, which are real functions
/// here, each under the name that headers use and the one that C programs of old use.
macro_rules! attribute_functions {
    ($($null_copy:ident $dup:ident $null_delete:ident)*) => { $(
        /// Does not copy.
        ///
        /// # Safety
        /// Called as MPI asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $null_copy(
            _object: Ptr, _keyval: c_int, _state: Ptr, _value: Ptr, _new: *mut Ptr, flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the caller's.
            unsafe { *flag = 0 }
            0
        }
        /// Copies the value as it is.
        ///
        /// # Safety
        /// Called as MPI asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $dup(
            _object: Ptr, _keyval: c_int, _state: Ptr, value: Ptr, new: *mut Ptr, flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the caller's.
            unsafe {
                *new = value;
                *flag = 1;
            }
            0
        }
        /// Does nothing.
        ///
        /// # Safety
        /// Called as MPI asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $null_delete(_object: Ptr, _keyval: c_int, _value: Ptr, _state: Ptr) -> c_int {
            0
        }
    )* };
}
attribute_functions! {
    OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_DELETE_FN
    OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_DELETE_FN
    OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN
    OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_DELETE_FN
}

/// Whether the library moves memory of AMD's graphics cards: it does not.
#[unsafe(no_mangle)]
pub extern "C" fn MPIX_Query_rocm_support() -> c_int {
    0
}
