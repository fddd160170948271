//! What the C functions of Open MPI's ABI take. A handle is an address in C and a small number in Fortran.

use crate::runtime::{P, get};
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub mod sentinel;

pub use crate::pool::{comm_error_function, file_error_function, user_function, win_error_function};

pub type Handle = usize;
pub type File = Handle;

/// No handle.
pub const UNSET: Handle = 0;
pub const FILE_UNSET: File = 0;

pub const ERR_BUFFER: c_int = 1;
pub const ERR_TYPE: c_int = 3;
pub const UNDEFINED: c_int = -32766;
pub const ROOT: c_int = -4;
pub const CART: c_int = 1;
pub const GRAPH: c_int = 2;
pub const DIST_GRAPH: c_int = 3;
pub const MAX_INFO_VAL: c_int = 256;
/// INTEGERs of a status.
pub const STATUS_SIZE: usize = 6;
pub const ARGV_NULL: P = std::ptr::null_mut();
pub const ARGVS_NULL: P = std::ptr::null_mut();

/// MPI_COMM_SELF
pub fn comm_self() -> Handle {
    comm_in(1)
}

/// MPI_BYTE
pub fn byte() -> Handle {
    datatype_in(1)
}

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

pub fn session_error_function(procedure: P) -> P {
    procedure
}

/// The key as C has it.
pub fn keyval_in(keyval: c_int) -> c_int {
    keyval
}

/// The value of a predefined attribute in Fortran, where C has a pointer to it.
pub unsafe fn predefined_attribute(keyval: c_int, attribute: P) -> Option<isize> {
    // SAFETY: C gave the attribute of this key.
    unsafe {
        match keyval {
            0..=6 | 9..=11 => Some(get::<c_int>(attribute) as isize),
            // MPI_WIN_BASE, an address in both languages; MPI_WIN_SIZE.
            7 => Some(attribute as isize),
            8 => Some(get::<isize>(attribute)),
            _ => None,
        }
    }
}

/// At load: the addresses that the program's own objects know.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = sentinel::learn;
