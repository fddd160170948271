//! What mpifort asks of a compiler that it meets for the first time, by `probe.f90`: what arguments come as.

use super::text::given;
use super::{P, put};
use std::ffi::c_int;

/// The address, element, rank, extent and stride that a descriptor tells.
pub unsafe extern "C" fn section(buffer: P, told: P) {
    // SAFETY: the probe gives a descriptor and room for five numbers.
    unsafe {
        let told = told.cast::<i64>();
        for (i, value) in (*super::section::section(buffer)).told().into_iter().enumerate() {
            put(told.add(i).cast(), value);
        }
    }
}

/// True if two texts come with their lengths behind all arguments, as `ab` and `cde` did.
pub unsafe extern "C" fn texts(a: P, good: P, b: P, a_length: usize, b_length: usize) {
    // SAFETY: the probe gives two texts and room for an INTEGER.
    unsafe {
        let known = a_length < 16 && b_length < 16 && given(a, a_length) == b"ab" && given(b, b_length) == b"cde";
        put(good, known as c_int);
    }
}
