//! Addresses with a meaning: variables in COMMON blocks that programs define, and this library too. Their names and
//! sizes are those of Open MPI's `mpif.h`. C has other values for them.

#![allow(non_upper_case_globals)]

use crate::runtime::{P, find, null, put, tell_ignored};
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

macro_rules! blocks {
    ($($symbol:ident: $ty:ty = $value:expr, $block:ident $name:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            static mut $symbol: $ty = $value;
            static $block: Block = Block { name: $name, address: AtomicUsize::new(0) };
        )*
        /// Finds the blocks: those of the program come before this library's.
        pub extern "C" fn learn() {
            $( $block.address.store(find($block.name) as usize, Relaxed); )*
            let at = |block: &Block| block.address.load(Relaxed) as P;
            tell_ignored(at(&STATUS_IGNORE), at(&STATUSES_IGNORE), |library| library.starts_with("libmpi."));
        }
    };
}
blocks! {
    mpi_fortran_bottom_: c_int = 0, BOTTOM c"mpi_fortran_bottom_";
    mpi_fortran_in_place_: c_int = 0, IN_PLACE c"mpi_fortran_in_place_";
    mpi_fortran_argv_null_: u8 = b' ', ARGV_NULL c"mpi_fortran_argv_null_";
    mpi_fortran_argvs_null_: f64 = 0.0, ARGVS_NULL c"mpi_fortran_argvs_null_";
    mpi_fortran_errcodes_ignore_: c_int = 0, ERRCODES_IGNORE c"mpi_fortran_errcodes_ignore_";
    mpi_fortran_status_ignore_: [c_int; 6] = [0; 6], STATUS_IGNORE c"mpi_fortran_status_ignore_";
    mpi_fortran_statuses_ignore_: f64 = 0.0, STATUSES_IGNORE c"mpi_fortran_statuses_ignore_";
    mpi_fortran_unweighted_: c_int = 0, UNWEIGHTED c"mpi_fortran_unweighted_";
    mpi_fortran_weights_empty_: c_int = 0, WEIGHTS_EMPTY c"mpi_fortran_weights_empty_";
}

/// Where a variable lies for the program.
struct Block {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Block {
    #[inline(always)]
    fn is(&self, address: P) -> bool {
        self.address.load(Relaxed) == address as usize
    }
}

/// MPI_BOTTOM, MPI_IN_PLACE
#[inline(always)]
pub fn buffer(address: P) -> P {
    match () {
        _ if BOTTOM.is(address) => null(),
        _ if IN_PLACE.is(address) => 1 as P,
        _ => address,
    }
}

#[inline]
pub fn is_in_place(address: P) -> bool {
    IN_PLACE.is(address)
}

/// MPI_STATUS_IGNORE
#[inline(always)]
pub fn status(address: P) -> P {
    if STATUS_IGNORE.is(address) { null() } else { address }
}

/// MPI_STATUSES_IGNORE
#[inline(always)]
pub fn statuses(address: P) -> P {
    if STATUSES_IGNORE.is(address) { null() } else { status(address) }
}

/// MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
pub fn weights(address: P) -> P {
    match () {
        _ if UNWEIGHTED.is(address) => 2 as P,
        _ if WEIGHTS_EMPTY.is(address) => 3 as P,
        _ => address,
    }
}

/// MPI_ERRCODES_IGNORE
pub fn errcodes(address: P) -> P {
    if ERRCODES_IGNORE.is(address) { null() } else { address }
}

/// MPI_ARGV_NULL, MPI_ARGVS_NULL
pub fn is_argv_null(address: P) -> bool {
    ARGV_NULL.is(address) || ARGVS_NULL.is(address)
}

/// A detached buffer for mpi_f08.
pub unsafe fn give_buffer(code: c_int, to: P, buffer: P) {
    if code == 0 {
        // SAFETY: the program has room for an address.
        unsafe { put(to, buffer) }
    }
}
