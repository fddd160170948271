//! Handles of Open MPI's ABI and the core's.

#![allow(non_upper_case_globals)]

use crate::OpenMpi;
use std::sync::OnceLock;
use tern_face::foreign::{UNKNOWN, refuse};
use tern_face::types::{Kind, PREDEFINED};

/// A predefined object. What lies behind the first word is never looked at; a program that was linked to copy it to
/// itself copies as many bytes as its own linker has seen.
#[repr(C, align(32))]
pub struct Object<const N: usize> {
    standard: usize,
    rest: [usize; N],
}

impl<const N: usize> Object<N> {
    const fn new(standard: usize) -> Object<N> {
        Object { standard, rest: [0; N] }
    }
}

/// The address of an object, as the program sees it: that of its copy, where it has one.
pub struct Address(*const ());

// SAFETY: the objects are constants.
unsafe impl Sync for Address {}

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
include!(concat!(env!("OUT_DIR"), "/fortran.rs"));

/// MPI_LB and MPI_UB, which the core does not have.
pub const LB: usize = 0x2fe;
pub const UB: usize = 0x2ff;

/// Set in handles of objects that the program makes, and in those of predefined ones that Open MPI does not have.
const MADE: usize = 1 << 63;

/// No library's data lies below, unless the program is linked to a fixed address.
const LOW: isize = 1 << 32;

/// Where the data of programs at a fixed address lie: above what other interfaces have as handles below it, and below
/// MPICH's, which begin at 64 MiB.
const FIXED: std::ops::Range<usize> = 0x1_0000..0x400_0000;

/// The standard handle; what is none of Open MPI's is told ([`refuse`]).
#[inline(always)]
pub fn to_standard(kind: Kind, own: usize) -> usize {
    if (own as isize) < LOW {
        if own & MADE != 0 {
            return own & !MADE;
        }
        if !FIXED.contains(&own) {
            return low(kind, own);
        }
    }
    // SAFETY: an object of ours, or its copy: MPI trusts handles as C trusts pointers.
    unsafe { *(own as *const usize) }
}

/// Another low address: that of an object of a very large program at a fixed address, null, or an int that another
/// interface has as a handle.
#[cold]
fn low(kind: Kind, own: usize) -> usize {
    match known(own) {
        Some(standard) => standard,
        None => refuse::<OpenMpi>(kind, own),
    }
}

/// The standard handle of what may be garbage, because it is not significant at this process.
#[inline(always)]
pub fn to_standard_if_known(own: usize) -> usize {
    if own & MADE != 0 { own & !MADE } else { known(own).unwrap_or(UNKNOWN) }
}

/// The standard handle of a predefined object.
fn known(own: usize) -> Option<usize> {
    static SORTED: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    let sorted = SORTED.get_or_init(|| {
        let mut all: Vec<_> = OBJECTS.iter().map(|(standard, address)| (address.0 as usize, *standard)).collect();
        all.sort_unstable();
        all
    });
    let at = sorted.binary_search_by_key(&own, |row| row.0).ok()?;
    Some(sorted[at].1)
}

/// The addresses by standard handle: 0 for those that Open MPI does not have.
static ADDRESSES: [Address; PREDEFINED] = {
    let mut all = [const { Address(std::ptr::null()) }; PREDEFINED];
    let mut at = 0;
    while at < OBJECTS.len() {
        let (standard, address) = &OBJECTS[at];
        all[*standard] = Address(address.0);
        at += 1;
    }
    all
};

/// Open MPI's handle for one of the core's.
#[inline(always)]
pub fn from_standard(standard: usize) -> usize {
    match ADDRESSES.get(standard) {
        Some(address) if !address.0.is_null() => address.0 as usize,
        _ => standard | MADE,
    }
}

/// The first number of Fortran's for objects that the program makes: the core's handles, which are above.
const FIRST_MADE: c_int = 4096;

use std::ffi::c_int;

/// Fortran's number for a handle; -1 where it has none (MPI 5.0 section 19.3.4).
pub fn to_fortran(kind: Kind, own: usize) -> c_int {
    let standard = to_standard(kind, own);
    match NUMBERS.iter().find(|row| row.0 == kind && row.1 == standard) {
        Some(row) => row.2,
        None => c_int::try_from(standard).ok().filter(|number| *number >= FIRST_MADE).unwrap_or(-1),
    }
}

/// The handle of a number; what is none gives a handle that every function refuses.
pub fn from_fortran(kind: Kind, number: c_int) -> usize {
    if number >= FIRST_MADE {
        return number as usize | MADE;
    }
    let found = NUMBERS.iter().find(|row| row.0 == kind && row.2 == number);
    found.map_or(UNKNOWN | MADE, |row| from_standard(row.1))
}
