//! What the C functions of Open MPI's ABI take. A handle is an address in C and a small number in Fortran.

use crate::runtime::{P, get};
use std::ffi::c_int;

pub mod sentinel;

pub use crate::handles::*;
pub use crate::pool::{comm_error_function, file_error_function, user_function, win_error_function};

pub const ERR_BUFFER: c_int = 1;
pub const ERR_NO_MEM: c_int = 39;
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

pub fn session_error_function(procedure: P) -> P {
    procedure
}

/// Only mpi_f08 of the standard ABI copies sections.
pub fn request_around() -> Option<crate::runtime::copied::RequestAround> {
    None
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
            0..=6 | 9..=12 => Some(get::<c_int>(attribute) as isize),
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
