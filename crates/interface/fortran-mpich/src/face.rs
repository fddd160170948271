//! What the C functions of MPICH's ABI take. Handles are ints in both languages, but for files.

use crate::runtime::{P, get};
use std::ffi::c_int;

pub mod sentinel;

pub type Handle = c_int;
pub type File = P;

/// No handle.
pub const UNSET: Handle = 0;
pub const FILE_UNSET: File = std::ptr::null_mut();

pub const ERR_BUFFER: c_int = 1;
pub const ERR_NO_MEM: c_int = 34;
pub const ERR_TYPE: c_int = 3;
pub const UNDEFINED: c_int = -32766;
pub const ROOT: c_int = -3;
pub const CART: c_int = 2;
pub const GRAPH: c_int = 1;
pub const DIST_GRAPH: c_int = 3;
pub const MAX_INFO_VAL: c_int = 1024;
/// INTEGERs of a status.
pub const STATUS_SIZE: usize = 5;
pub const ARGV_NULL: P = std::ptr::null_mut();
pub const ARGVS_NULL: P = std::ptr::null_mut();

/// MPI_COMM_SELF
pub fn comm_self() -> Handle {
    0x4400_0001
}

/// MPI_BYTE
pub fn byte() -> Handle {
    0x4c00_010d
}

macro_rules! handles {
    ($($read:ident $give:ident)*) => { $(
        #[inline(always)]
        pub fn $read(value: c_int) -> Handle {
            value
        }
        #[inline(always)]
        pub fn $give(handle: Handle) -> c_int {
            handle
        }
    )* };
}
handles! {
    comm_in comm_out group_in group_out datatype_in datatype_out op_in op_out errhandler_in errhandler_out
    info_in info_out request_in request_out message_in message_out win_in win_out session_in session_out
}

unsafe extern "C" {
    fn PMPI_File_f2c(file: c_int) -> File;
    fn PMPI_File_c2f(file: File) -> c_int;
}

pub fn file_in(value: c_int) -> File {
    // SAFETY: any number is answered.
    unsafe { PMPI_File_f2c(value) }
}

pub fn file_out(file: File) -> c_int {
    // SAFETY: C gave the file.
    unsafe { PMPI_File_c2f(file) }
}

/// Keys of predefined attributes in C are odd; Fortran's are the next numbers.
const PREDEFINED: [std::ops::Range<c_int>; 2] = [0x6440_0000..0x6440_0020, 0x6600_0000..0x6600_0020];

/// Only mpi_f08 of the standard ABI copies sections.
pub fn request_around() -> Option<crate::runtime::copied::RequestAround> {
    None
}

/// The key as C has it.
pub fn keyval_in(keyval: c_int) -> c_int {
    let even = keyval & 1 == 0 && PREDEFINED.iter().any(|range| range.contains(&keyval));
    if even { keyval - 1 } else { keyval }
}

/// The value of a predefined attribute in Fortran, where C has a pointer to it.
pub unsafe fn predefined_attribute(keyval: c_int, attribute: P) -> Option<isize> {
    let keyval = keyval_in(keyval);
    // SAFETY: C gave the attribute of this key.
    unsafe {
        match keyval {
            // MPI_WIN_BASE, an address in both languages; MPI_WIN_SIZE.
            0x6600_0001 => Some(attribute as isize),
            0x6600_0003 => Some(get::<isize>(attribute)),
            _ if PREDEFINED.iter().any(|range| range.contains(&keyval)) => Some(get::<c_int>(attribute) as isize),
            _ => None,
        }
    }
}

/// What C calls for a procedure of the program: the procedure itself, which gets the addresses of handles.
macro_rules! same {
    ($($name:ident)*) => { $(
        pub fn $name(procedure: P) -> P {
            procedure
        }
    )* };
}
same!(user_function comm_error_function win_error_function file_error_function session_error_function);

/// At load: the addresses that the program's own objects know.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = sentinel::learn;
