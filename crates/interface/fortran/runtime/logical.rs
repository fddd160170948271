//! LOGICAL: true and false as the program's compiler has them.

use super::{P, UNSET, put};
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// `.TRUE.` and `.FALSE.`; those of most compilers until a program's own module tells.
static TRUE: AtomicI32 = AtomicI32::new(1);
static FALSE: AtomicI32 = AtomicI32::new(0);

pub fn learn(yes: c_int, no: c_int) {
    TRUE.store(yes, Relaxed);
    FALSE.store(no, Relaxed);
}

/// C's truth of a LOGICAL.
#[inline]
pub unsafe fn get(at: P) -> c_int {
    // SAFETY: the program gives a LOGICAL.
    (unsafe { super::get::<c_int>(at) } != FALSE.load(Relaxed)) as c_int
}

#[inline]
pub fn of(truth: c_int) -> c_int {
    if truth != 0 { TRUE.load(Relaxed) } else { FALSE.load(Relaxed) }
}

#[inline]
pub unsafe fn set(at: P, truth: c_int) {
    // SAFETY: the program has room for a LOGICAL.
    unsafe { put(at, of(truth)) }
}

/// Gives a result if C has set it. A call that fails sets some: the flag of a completion that failed is true.
#[inline]
pub unsafe fn give(at: P, truth: c_int) {
    if truth != UNSET {
        // SAFETY: as above.
        unsafe { set(at, truth) }
    }
}

/// Truth values as C has them.
pub struct Array(Vec<c_int>);

impl Array {
    pub unsafe fn read(array: P, len: c_int) -> Array {
        // SAFETY: the program gives `len` of them.
        Array((0..super::length(len)).map(|i| unsafe { get(array.cast::<c_int>().add(i).cast()) }).collect())
    }

    pub unsafe fn unset(_array: P, len: c_int) -> Array {
        Array(vec![UNSET; super::length(len)])
    }

    pub fn address(&mut self) -> P {
        self.0.as_mut_ptr().cast()
    }

    /// Gives those that C has written.
    pub unsafe fn give(&self, array: P) {
        for (i, &truth) in self.0.iter().enumerate().filter(|(_, truth)| **truth != UNSET) {
            // SAFETY: the program has room for them.
            unsafe { set(array.cast::<c_int>().add(i).cast(), truth) }
        }
    }
}
