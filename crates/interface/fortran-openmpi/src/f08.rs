//! Symbols of Open MPI's module `mpi_f08` as gfortran names them, and of MPI_Sizeof, beside the procedures that the
//! generator writes. A handle type is one INTEGER.

use crate::runtime::{P, callback, custom, get, names, put, set_ierror};
use std::ffi::c_int;

/// Operators of the handle types; the result is a LOGICAL.
macro_rules! operators {
    ($($equal:literal $different:literal)*) => { $( const _: () = {
        #[unsafe(export_name = concat!("__mpi_f08_types_MOD_ompi_", $equal))]
        unsafe extern "C" fn equal(a: P, b: P) -> c_int {
            // SAFETY: both are handles.
            unsafe { (get::<c_int>(a) == get::<c_int>(b)) as c_int }
        }
        #[unsafe(export_name = concat!("__mpi_f08_types_MOD_ompi_", $different))]
        unsafe extern "C" fn different(a: P, b: P) -> c_int {
            // SAFETY: as above.
            unsafe { (get::<c_int>(a) != get::<c_int>(b)) as c_int }
        }
    }; )* };
}
operators! {
    "comm_op_eq" "comm_op_ne"
    "datatype_op_eq" "datatype_op_ne"
    "errhandler_op_eq" "errhandler_op_ne"
    "file_op_eq" "file_op_ne"
    "group_op_eq" "group_op_ne"
    "info_op_eq" "info_op_ne"
    "message_op_eq" "message_op_ne"
    "op_op_eq" "op_op_ne"
    "request_op_eq" "request_op_ne"
    "win_op_eq" "win_op_ne"
}

names!(callback::comm_dup_fn: __mpi_f08_callbacks_MOD_mpi_comm_dup_fn);
names!(callback::comm_null_copy_fn: __mpi_f08_callbacks_MOD_mpi_comm_null_copy_fn);
names!(callback::comm_null_delete_fn: __mpi_f08_callbacks_MOD_mpi_comm_null_delete_fn);
names!(callback::type_dup_fn: __mpi_f08_callbacks_MOD_mpi_type_dup_fn);
names!(callback::type_null_copy_fn: __mpi_f08_callbacks_MOD_mpi_type_null_copy_fn);
names!(callback::type_null_delete_fn: __mpi_f08_callbacks_MOD_mpi_type_null_delete_fn);
names!(callback::win_dup_fn: __mpi_f08_callbacks_MOD_mpi_win_dup_fn);
names!(callback::win_null_copy_fn: __mpi_f08_callbacks_MOD_mpi_win_null_copy_fn);
names!(callback::win_null_delete_fn: __mpi_f08_callbacks_MOD_mpi_win_null_delete_fn);

names!(custom::f_sync_reg: mpi_f_sync_reg_f08_ pmpi_f_sync_reg_f08_);

/// MPI_Sizeof (MPI 4.0 section 19.1.9), a procedure for each type and rank.
macro_rules! sizeof {
    ($($size:literal $name:literal)*) => { $(
        sizeof!(at $size $name: "scalar" "r1" "r2" "r3" "r4" "r5" "r6" "r7" "r8" "r9" "r10" "r11" "r12" "r13" "r14" "r15");
    )* };
    (at $size:literal $name:literal: $($rank:literal)*) => { $( const _: () = {
        #[unsafe(export_name = concat!("mpi_sizeof_", $name, "_", $rank, "_"))]
        unsafe extern "C" fn self_size(_: P, size: P, ierror: P) {
            // SAFETY: the program has room for the results.
            unsafe {
                put::<c_int>(size, $size);
                set_ierror(ierror, 0);
            }
        }
        #[unsafe(export_name = concat!("pmpi_sizeof_", $name, "_", $rank, "_"))]
        unsafe extern "C" fn size_for_tools(x: P, size: P, ierror: P) {
            // SAFETY: as above.
            unsafe { self_size(x, size, ierror) }
        }
    }; )* };
}
sizeof! {
    1 "character"
    4 "logical"
    1 "int8"
    2 "int16"
    4 "int32"
    8 "int64"
    4 "real32"
    8 "real64"
    16 "real128"
    8 "complex32"
    16 "complex64"
    32 "complex128"
}
