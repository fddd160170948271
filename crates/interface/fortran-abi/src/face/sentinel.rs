//! Addresses with a meaning: MPI_BOTTOM and its like are variables of the program's, in one COMMON block, which this
//! library defines too. C has other values for them.

use crate::runtime::{P, find, null, put, tell_ignored};
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The block, as `mpif.h` and the modules declare it.
#[repr(C, align(32))]
pub struct Block {
    bottom: c_int,
    in_place: c_int,
    buffer_automatic: c_int,
    unweighted: c_int,
    weights_empty: c_int,
    errcodes_ignore: c_int,
    status_ignore: [c_int; 8],
    statuses_ignore: [c_int; 8],
    argv_null: [u8; 4],
    argvs_null: [u8; 4],
}

const BLANK: [u8; 4] = [b' '; 4];

/// Where the program has no such block. Never read or written.
#[unsafe(no_mangle)]
pub static mut mpiternsentinels_: Block = Block {
    bottom: 0,
    in_place: 0,
    buffer_automatic: 0,
    unweighted: 0,
    weights_empty: 0,
    errcodes_ignore: 0,
    status_ignore: [0; 8],
    statuses_ignore: [0; 8],
    argv_null: BLANK,
    argvs_null: BLANK,
};

/// The block's address.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// Finds the block: that of the program comes before this library's.
pub fn learn() {
    let own = (&raw const mpiternsentinels_) as usize;
    let others = [c"mpiternsentinels", c"MPITERNSENTINELS", c"mpiternsentinels_"];
    let found = others.iter().map(|name| find(name) as usize).find(|&address| address != 0);
    let base = found.unwrap_or(own);
    BASE.store(base, Relaxed);
    let at = |offset: usize| (base + offset) as P;
    let (one, many) = (std::mem::offset_of!(Block, status_ignore), std::mem::offset_of!(Block, statuses_ignore));
    tell_ignored(at(one), at(many), |library| library.starts_with("libmpi_abi."));
}

/// The offset in the block, or more than it has.
#[inline(always)]
fn offset(address: P) -> usize {
    (address as usize).wrapping_sub(BASE.load(Relaxed))
}

#[inline(always)]
fn is_in_block(address: P) -> bool {
    offset(address) < size_of::<Block>()
}

macro_rules! is {
    ($address:ident $field:ident) => {
        offset($address) == std::mem::offset_of!(Block, $field)
    };
}

/// MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC.
#[inline(always)]
pub fn buffer(address: P) -> P {
    if is_in_block(address) { meant(address) } else { address }
}

#[cold]
fn meant(address: P) -> P {
    match () {
        _ if is!(address bottom) => null(),
        _ if is!(address in_place) => 1 as P,
        _ if is!(address buffer_automatic) => 2 as P,
        _ => address,
    }
}

#[inline]
pub fn is_in_place(address: P) -> bool {
    is!(address in_place)
}

/// MPI_STATUS_IGNORE
#[inline(always)]
pub fn status(address: P) -> P {
    if is!(address status_ignore) { null() } else { address }
}

/// MPI_STATUSES_IGNORE
#[inline(always)]
pub fn statuses(address: P) -> P {
    if is!(address statuses_ignore) || is!(address status_ignore) { null() } else { address }
}

/// MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
pub fn weights(address: P) -> P {
    match () {
        _ if is!(address unweighted) => 10 as P,
        _ if is!(address weights_empty) => 11 as P,
        _ => address,
    }
}

/// MPI_ERRCODES_IGNORE
pub fn errcodes(address: P) -> P {
    if is!(address errcodes_ignore) { null() } else { address }
}

/// MPI_ARGV_NULL, MPI_ARGVS_NULL
pub fn is_argv_null(address: P) -> bool {
    is!(address argv_null) || is!(address argvs_null)
}

/// A detached buffer for mpi_f08, where MPI_BUFFER_AUTOMATIC has its own address.
pub unsafe fn give_buffer(code: c_int, to: P, buffer: P) {
    let automatic = BASE.load(Relaxed) + std::mem::offset_of!(Block, buffer_automatic);
    if code == 0 {
        // SAFETY: the program has room for an address.
        unsafe { put(to, if buffer as usize == 2 { automatic as P } else { buffer }) }
    }
}
