//! Handles of Fortran, which are numbers, and those of C.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub type Handle = usize;
pub type File = Handle;

/// No handle.
pub const UNSET: Handle = 0;
pub const FILE_UNSET: File = 0;

/// Numbers of predefined handles are below.
const PREDEFINED: usize = 128;

/// The C library has the core's handles of made objects with this bit set; Fortran's number is the core's handle.
const MADE: Handle = 1 << 63;
const FIRST_MADE: Handle = 4096;

/// Conversions by the C library, which are kept for predefined handles: those never change.
macro_rules! handles {
    ($($read:ident $give:ident $f2c:ident $c2f:ident)*) => { $(
        unsafe extern "C" {
            fn $f2c(value: c_int) -> Handle;
            fn $c2f(handle: Handle) -> c_int;
        }
        #[inline]
        pub fn $read(value: c_int) -> Handle {
            static KNOWN: [AtomicUsize; PREDEFINED] = [const { AtomicUsize::new(UNSET) }; PREDEFINED];
            let known = KNOWN.get(value as usize);
            if let Some(known) = known && known.load(Relaxed) != UNSET {
                return known.load(Relaxed);
            }
            if value as usize >= FIRST_MADE && value > 0 {
                return value as usize | MADE;
            }
            // SAFETY: any number is answered.
            let handle = unsafe { $f2c(value) };
            if let Some(known) = known {
                known.store(handle, Relaxed);
            }
            handle
        }
        #[inline]
        pub fn $give(handle: Handle) -> c_int {
            let made = handle & !MADE;
            if handle & MADE != 0 && made >= FIRST_MADE && made <= c_int::MAX as usize {
                return made as c_int;
            }
            // The handle that calls give most often: MPI_REQUEST_NULL.
            if handle == $read(0) {
                return 0;
            }
            // SAFETY: C gave the handle.
            unsafe { $c2f(handle) }
        }
    )* };
}
handles! {
    comm_in comm_out PMPI_Comm_f2c PMPI_Comm_c2f
    group_in group_out PMPI_Group_f2c PMPI_Group_c2f
    datatype_in datatype_out PMPI_Type_f2c PMPI_Type_c2f
    op_in op_out PMPI_Op_f2c PMPI_Op_c2f
    errhandler_in errhandler_out PMPI_Errhandler_f2c PMPI_Errhandler_c2f
    info_in info_out PMPI_Info_f2c PMPI_Info_c2f
    request_in request_out PMPI_Request_f2c PMPI_Request_c2f
    message_in message_out PMPI_Message_f2c PMPI_Message_c2f
    win_in win_out PMPI_Win_f2c PMPI_Win_c2f
    file_in file_out PMPI_File_f2c PMPI_File_c2f
}

/// Sessions are newer than this interface's Fortran.
pub fn session_in(value: c_int) -> Handle {
    value as usize | MADE
}

pub fn session_out(handle: Handle) -> c_int {
    handle as c_int
}
