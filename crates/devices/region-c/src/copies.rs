//! Copies, waited for or not.

use crate::{CSpot, Handle, code, direction, failed, handle, segments};
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use tern_region::Run;
use tern_region::space::{Offload, Space, Status};

/// What `tern_region_status` is in C. The fields are dropped in this order.
pub struct Copy {
    status: Status,
    space: Handle,
}

fn offload(by: u32) -> Result<Offload, c_int> {
    match by {
        0 => Ok(Offload::Never),
        1 => Ok(Offload::WhenIdle),
        2 => Ok(Offload::Always),
        3 => Ok(Offload::Engine),
        _ => Err(-libc::EINVAL),
    }
}

/// Another reference to the program's space.
///
/// # Safety
/// `space` is null or a space of the program's.
unsafe fn share(space: *const Space) -> Result<Handle, c_int> {
    if space.is_null() {
        return Err(-libc::EINVAL);
    }
    // SAFETY: made by `give`; the program keeps its own reference.
    let own = ManuallyDrop::new(unsafe { Arc::from_raw(space) });
    Ok(Handle::clone(&own))
}

/// Gives an asynchronous copy to the program.
///
/// # Safety
/// As for [`share`]; `out` is null or can be written.
unsafe fn give(space: *const Space, out: *mut *mut Copy, start: impl FnOnce(&Space) -> Result<Status, c_int>) -> c_int {
    if out.is_null() {
        return -libc::EINVAL;
    }
    // SAFETY: contract of this function.
    let space = unsafe { share(space) };
    let result = space.and_then(|space| Ok(Box::new(Copy { status: start(&space)?, space })));
    let (given, code) = match result {
        Ok(copy) => (Box::into_raw(copy), 0),
        Err(error) => (ptr::null_mut(), error),
    };
    // SAFETY: contract of this function.
    unsafe { *out = given };
    code
}

/// # Safety
/// `space` is null or a space of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_copy(space: *const Space, from: CSpot, to: CSpot, len: u64) -> c_int {
    // SAFETY: contract of this function.
    let copy = || unsafe { handle(space) }.and_then(|space| space.copy(from.spot()?, to.spot()?, len).map_err(failed));
    code(copy())
}

/// # Safety
/// `space` is null or a space of the program's; the segments are there, and their memory is for this copy alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_inline_copy(
    space: *const Space, first: *const Run, count: usize, spot: CSpot, len: u64, bits: u32,
) -> c_int {
    let copy = || {
        // SAFETY: contract of this function.
        let (space, local) = unsafe { (handle(space)?, segments(first, count)?) };
        // SAFETY: contract of this function.
        unsafe { space.inline_copy(local, spot.spot()?, len, direction(bits)?) }.map_err(failed)
    };
    code(copy())
}

/// # Safety
/// `space` is null or a space of the program's; `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_start_copy(
    space: *const Space, from: CSpot, to: CSpot, len: u64, by: u32, out: *mut *mut Copy,
) -> c_int {
    let start = |space: &Space| space.start_copy(from.spot()?, to.spot()?, len, offload(by)?).map_err(failed);
    // SAFETY: contract of this function.
    unsafe { give(space, out, start) }
}

/// # Safety
/// As [`tern_region_inline_copy`], until the copy is over or released; `out` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_start_inline_copy(
    space: *const Space, first: *const Run, count: usize, spot: CSpot, len: u64, bits: u32, by: u32,
    out: *mut *mut Copy,
) -> c_int {
    let start = |space: &Space| {
        // SAFETY: contract of this function.
        let local = unsafe { segments(first, count) }?;
        // SAFETY: contract of this function.
        unsafe { space.start_inline_copy(local, spot.spot()?, len, direction(bits)?, offload(by)?) }.map_err(failed)
    };
    // SAFETY: contract of this function.
    unsafe { give(space, out, start) }
}

/// # Safety
/// `copy` is null or an asynchronous copy of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_poll(copy: *const Copy) -> c_int {
    // SAFETY: contract of this function.
    match unsafe { handle(copy) }.map(|copy| copy.space.poll(&copy.status)) {
        Ok(None) => -libc::EINPROGRESS,
        Ok(Some(result)) => code(result.map_err(failed)),
        Err(error) => error,
    }
}

/// # Safety
/// `copy` is null or an asynchronous copy of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_wait(copy: *const Copy) -> c_int {
    // SAFETY: contract of this function.
    code(unsafe { handle(copy) }.and_then(|copy| copy.space.wait(&copy.status).map_err(failed)))
}

/// # Safety
/// `copy` is null or an asynchronous copy of the program's, which uses it no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_region_release(copy: *mut Copy) {
    if !copy.is_null() {
        // SAFETY: made by `give`.
        drop(unsafe { Box::from_raw(copy) });
    }
}
