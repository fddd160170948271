//! Handles that are none of this face's, but look like those of another interface: the usual cause is a program, or a
//! library in it, that was compiled with another MPI's mpi.h.

use crate::types::Face;
use crate::types::Kind;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle that the core knows in no kind of object, and refuses with the right error class.
pub const UNKNOWN: usize = 0xfff;

/// Says once what the handle looks like; gives [`UNKNOWN`].
#[cold]
pub fn refuse<F: Face>(kind: Kind, value: usize) -> usize {
    static SAID: AtomicBool = AtomicBool::new(false);
    let other = match value {
        0x20..0x300 => Some("the standard ABI's mpi.h (libmpi_abi.so.1)"),
        value if F::MPICH_IS_FOREIGN && is_mpich(value) => Some("MPICH's mpi.h (libmpi.so.12)"),
        _ => None,
    };
    // Relaxed: only whether it was said.
    if let Some(other) = other.filter(|_| !SAID.swap(true, Ordering::Relaxed)) {
        eprintln!(
            "Tern: a function of {} got {value:#x} as {kind:?} handle, which is none of that interface. It looks like \
             one of {other}.\n  Most likely the program, or a library that it loads, was compiled with that header but \
             finds this library first.\n  What to try: look with ldd which MPI libraries are loaded, and compile all \
             parts with one mpi.h (or load the parts with dlopen and RTLD_LOCAL | RTLD_DEEPBIND).",
            F::NAME
        );
    }
    UNKNOWN
}

/// Predefined handles of MPICH's ABI.
fn is_mpich(value: usize) -> bool {
    let (form, kind) = (value >> 30, value >> 26 & 15);
    value < 1 << 32 && form <= 2 && (1..=15).contains(&kind) && value & 0x3f_0000 == 0
}
