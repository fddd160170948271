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

/// What a C++ object of Open MPI's (removed) C++ interface begins with.
#[repr(C)]
pub struct Wrapped {
    virtual_table: usize,
    handle: usize,
}

/// `MPI::Comm::Comm()`: MPI_COMM_NULL. The class is abstract: the table of virtual functions is set by who derives.
///
/// # Safety
/// `this` is room for such an object.
#[unsafe(export_name = "_ZN3MPI4CommC2Ev")]
pub unsafe extern "C" fn cxx_comm(this: *mut Wrapped) {
    const STANDARD_COMM_NULL: usize = 0x100;
    // SAFETY: the caller's.
    unsafe { (*this).handle = crate::handles::from_standard(STANDARD_COMM_NULL) }
}

/// `MPI::Datatype::Free()`
///
/// # Safety
/// `this` is such an object.
#[unsafe(export_name = "_ZN3MPI8Datatype4FreeEv")]
pub unsafe extern "C" fn cxx_datatype_free(this: *mut Wrapped) {
    // SAFETY: the caller's.
    unsafe { crate::entries::body_type_free((&raw mut (*this).handle).cast()) };
}

/// `MPI::Win::Free()`
///
/// # Safety
/// `this` is such an object.
#[unsafe(export_name = "_ZN3MPI3Win4FreeEv")]
pub unsafe extern "C" fn cxx_win_free(this: *mut Wrapped) {
    // SAFETY: the caller's.
    unsafe { crate::entries::body_win_free((&raw mut (*this).handle).cast()) };
}

/// Whatever operates in C++: every program that includes mpicxx.h refers to it, and hardly one calls it.
///
/// # Safety
/// Called as MPI asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_mpi_cxx_op_intercept(
    _input: Ptr, _inout: Ptr, _len: *mut c_int, _datatype: Ptr, _function: Ptr,
) {
    eprintln!(
        "Tern: this program uses a reduction operation of the C++ interface (MPI::Op::Init), which MPI-3.0 removed and \
         Tern does not have.\n  What to try: compile the program with MPI_Op_create in its place."
    );
    std::process::abort();
}

/// The same, when such an operation is made.
#[unsafe(no_mangle)]
pub extern "C" fn ompi_op_set_cxx_callback(_op: Ptr, _function: Ptr) {}
