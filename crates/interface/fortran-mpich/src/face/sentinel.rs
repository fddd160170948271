//! Addresses with a meaning: variables in COMMON blocks that programs define, and this library too. Their names and
//! sizes are those of MPICH's `mpif.h`. C has other values for them.

#![allow(non_upper_case_globals)]

use crate::runtime::{P, find, null, tell_ignored};
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE
#[unsafe(no_mangle)]
static mut mpipriv1_: [c_int; 7] = [0; 7];
/// MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE
#[unsafe(no_mangle)]
static mut mpipriv2_: [c_int; 6] = [0; 6];
/// MPI_ARGVS_NULL, MPI_ARGV_NULL
#[unsafe(no_mangle)]
static mut mpiprivc_: [u8; 2] = [b' '; 2];
/// MPI_UNWEIGHTED
#[unsafe(no_mangle)]
static mut mpifcmb5_: c_int = 0;
/// MPI_WEIGHTS_EMPTY
#[unsafe(no_mangle)]
static mut mpifcmb9_: c_int = 0;

/// Where a block lies for the program.
struct Block {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Block {
    const fn new(name: &'static CStr) -> Block {
        Block { name, address: AtomicUsize::new(0) }
    }

    fn learn(&self) {
        self.address.store(find(self.name) as usize, Relaxed);
    }

    #[inline(always)]
    fn offset(&self, address: P) -> usize {
        (address as usize).wrapping_sub(self.address.load(Relaxed))
    }
}

static FIRST: Block = Block::new(c"mpipriv1_");
static SECOND: Block = Block::new(c"mpipriv2_");
static TEXTS: Block = Block::new(c"mpiprivc_");
static UNWEIGHTED: Block = Block::new(c"mpifcmb5_");
static WEIGHTS_EMPTY: Block = Block::new(c"mpifcmb9_");

/// Finds the blocks: those of the program come before this library's.
pub extern "C" fn learn() {
    for block in [&FIRST, &SECOND, &TEXTS, &UNWEIGHTED, &WEIGHTS_EMPTY] {
        block.learn();
    }
    let at = |block: &Block, offset: usize| (block.address.load(Relaxed) + offset) as P;
    tell_ignored(at(&FIRST, 8), at(&SECOND, 0), |library| {
        library.starts_with("libmpi.") || library.starts_with("libmpich.")
    });
}

/// C's MPI_IN_PLACE, and MPI_STATUS_IGNORE.
const IN_PLACE: P = -1_isize as P;
const IGNORE: P = 1 as P;

/// MPI_BOTTOM, MPI_IN_PLACE
#[inline(always)]
pub fn buffer(address: P) -> P {
    match FIRST.offset(address) {
        0 => null(),
        4 => IN_PLACE,
        _ => address,
    }
}

#[inline]
pub fn is_in_place(address: P) -> bool {
    FIRST.offset(address) == 4
}

/// MPI_STATUS_IGNORE
#[inline(always)]
pub fn status(address: P) -> P {
    if FIRST.offset(address) == 8 { IGNORE } else { address }
}

/// MPI_STATUSES_IGNORE
#[inline(always)]
pub fn statuses(address: P) -> P {
    if SECOND.offset(address) == 0 { IGNORE } else { status(address) }
}

unsafe extern "C" {
    /// C's constants are pointers in variables.
    static MPI_UNWEIGHTED: P;
    static MPI_WEIGHTS_EMPTY: P;
}

/// MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
pub fn weights(address: P) -> P {
    // SAFETY: the C library defines them.
    unsafe {
        match () {
            _ if UNWEIGHTED.offset(address) == 0 => MPI_UNWEIGHTED,
            _ if WEIGHTS_EMPTY.offset(address) == 0 => MPI_WEIGHTS_EMPTY,
            _ => address,
        }
    }
}

/// MPI_ERRCODES_IGNORE
pub fn errcodes(address: P) -> P {
    if SECOND.offset(address) == 20 { null() } else { address }
}

/// MPI_ARGV_NULL, MPI_ARGVS_NULL
pub fn is_argv_null(address: P) -> bool {
    TEXTS.offset(address) < 2
}
