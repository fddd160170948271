//! The region crate as a C library: `libtern_region.so`, for programs and MPI libraries that are not Tern.
//!
//! `include/tern_region.h` declares it, and `docs/region-library.md` describes it. This crate turns the interface of
//! [`Space`](tern_region::Space) into C, and finds a space by a name ([`named`]). It decides nothing.
//!
//! A panic ends the process: `extern "C"` lets none through.

mod copies;
mod error;
mod named;
mod spaces;

use std::ffi::c_int;
use std::sync::Arc;
use tern_region::Run;
use tern_region::space::{Cookie, Direction, Error, Protection, Spot};

#[global_allocator]
static MEMORY: tern_memory::Checked = tern_memory::Checked::ending(tern_memory::end);

/// What `tern_region_space` is in C: one reference, which asynchronous copies share.
type Handle = Arc<tern_region::Space>;

/// A byte of a region, as in C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CSpot {
    cookie: u64,
    offset: u64,
}

impl CSpot {
    fn spot(self) -> Result<Spot, c_int> {
        Ok(Cookie::from_bits(self.cookie).ok_or(-libc::ENOENT)?.at(self.offset))
    }
}

/// A result in C: 0, or a negative errno.
fn code(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(0)
}

/// An error in C.
fn failed(error: Error) -> c_int {
    error::number(&error)
}

/// What a pointer of the program's leads to.
///
/// # Safety
/// It is null, or what this library has given for it and the program has not given back.
unsafe fn handle<'a, T>(pointer: *const T) -> Result<&'a T, c_int> {
    // SAFETY: contract of this function.
    unsafe { pointer.as_ref() }.ok_or(-libc::EINVAL)
}

/// Segments, whose `struct iovec` is laid out as [`Run`].
///
/// # Safety
/// As many are there.
unsafe fn segments<'a>(first: *const Run, count: usize) -> Result<&'a [Run], c_int> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(-libc::EINVAL),
        // SAFETY: contract of this function.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

fn protection(bits: u32) -> Result<Protection, c_int> {
    match bits {
        1 => Ok(Protection::Read),
        2 => Ok(Protection::Write),
        3 => Ok(Protection::ReadWrite),
        _ => Err(-libc::EINVAL),
    }
}

fn direction(bits: u32) -> Result<Direction, c_int> {
    match bits {
        1 => Ok(Direction::Read),
        2 => Ok(Direction::Write),
        _ => Err(-libc::EINVAL),
    }
}
