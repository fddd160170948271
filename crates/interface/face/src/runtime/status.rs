//! Statuses: those of the standard ABI, and their conversion.

use crate::scratch::Scratch;
use crate::types::Face;
use crate::types::Ptr;
use crate::values::{NONE, code_in, code_out};
use std::ffi::c_int;
use tern_memory::Lack;

/// `MPI_Status` of the standard ABI, as the core fills it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Standard {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    /// The count of bytes, lower half first, and whether the operation was cancelled.
    pub internal: [c_int; 5],
}

impl Standard {
    /// One that the core has not written: source and error tell.
    #[inline(always)]
    pub fn blank() -> Standard {
        Standard { source: NONE, tag: 0, error: NONE, internal: [0; 5] }
    }

    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.internal[0] as u32 as u64 | (self.internal[1] as u32 as u64) << 32
    }

    #[inline(always)]
    pub fn new(source: c_int, tag: c_int, error: c_int, bytes: u64, cancelled: bool) -> Standard {
        let internal = [bytes as u32 as c_int, (bytes >> 32) as c_int, cancelled as c_int, 0, 0];
        Standard { source, tag, error, internal }
    }
}

/// Room for one status of a call, and what the core is given for it: null for MPI_STATUS_IGNORE.
#[inline(always)]
pub fn place<F: Face>(status: Ptr, room: &mut Standard) -> Ptr {
    if F::is_ignore(status.cast()) { std::ptr::null_mut() } else { (room as *mut Standard).cast() }
}

/// Hands on what the core has written.
///
/// # Safety
/// `status` is MPI_STATUS_IGNORE, or valid for reads and writes of a status.
#[inline(always)]
pub unsafe fn give<F: Face>(room: &Standard, status: Ptr) {
    if F::is_ignore(status.cast()) {
        return;
    }
    // SAFETY: the caller's.
    let status = unsafe { &mut *status.cast::<F::Status>() };
    if room.source != NONE {
        F::status_out(room, status);
    }
    if room.error != NONE {
        *F::status_error(status) = code_out::<F>(room.error);
    }
}

/// A status that the program gives, as the core reads it; null stays null.
///
/// # Safety
/// `status` is null or MPI_STATUS_IGNORE, or valid for reads.
pub unsafe fn take<F: Face>(status: Ptr, room: &mut Standard) -> Ptr {
    if status.is_null() || F::is_ignore(status.cast()) {
        return std::ptr::null_mut();
    }
    // SAFETY: the caller's; the copy is read only.
    unsafe {
        let mut copy = *status.cast::<F::Status>();
        *room = F::status_in(&copy);
        room.error = code_in::<F>(*F::status_error(&mut copy));
    }
    (room as *mut Standard).cast()
}

/// Statuses of one call.
pub struct Many(Scratch<Standard, 16>);

impl Many {
    #[inline(always)]
    pub fn new<F: Face>(statuses: Ptr, count: c_int) -> Many {
        let count = if F::is_ignore(statuses.cast()) { 0 } else { count };
        let mut all = Scratch::new(count as i64);
        for at in 0..all.len() {
            all.set(at, Standard::blank());
        }
        Many(all)
    }

    /// See [`Scratch::has_room`].
    #[inline(always)]
    pub fn has_room(&self) -> Result<(), Lack> {
        self.0.has_room()
    }

    #[inline(always)]
    pub fn place<F: Face>(&mut self, statuses: Ptr) -> Ptr {
        if F::is_ignore(statuses.cast()) { std::ptr::null_mut() } else { self.0.pointer().cast() }
    }

    /// # Safety
    /// `statuses` is MPI_STATUSES_IGNORE, or valid for as many statuses as [`Many::new`] was told.
    #[inline(always)]
    pub unsafe fn give<F: Face>(&self, statuses: Ptr) {
        for at in 0..self.0.len() {
            // SAFETY: the caller's.
            unsafe { give::<F>(self.0.get(at), statuses.cast::<F::Status>().add(at).cast()) }
        }
    }
}

/// MPI_Status_c2f and its like: the layouts are the same in both languages. Neither may be MPI_STATUS_IGNORE.
///
/// # Safety
/// Both are null or MPI_STATUS_IGNORE, or valid for a status; they are aligned as ints are.
pub unsafe fn copy<F: Face>(from: Ptr, to: Ptr) -> c_int {
    if F::is_ignore(from.cast()) || F::is_ignore(to.cast()) {
        return F::ERR_ARG;
    }
    // SAFETY: the caller's.
    unsafe { to.cast::<u8>().copy_from(from.cast::<u8>(), size_of::<F::Status>()) };
    0
}
