//! Bytes to and from mapped memory: the copy is all there is of a put or a get.

use crate::elements::{Side, copy};
use crate::window::Window;
use tern_copy::{Source, Target};
use tern_mcm::Direction;
use tern_node::clock;
use tern_policy::stores::LONG_ACCESS;

impl Window {
    /// Copies dense bytes, as a put or a get of mapped memory.
    ///
    /// # Safety
    /// Both are valid for `len` bytes.
    #[inline(always)]
    pub(crate) unsafe fn move_mapped(&self, from: *const u8, to: *mut u8, len: usize, way: Direction) {
        // SAFETY: contract of this function.
        unsafe { if len < LONG_ACCESS { copy(from, to, len) } else { self.move_long(from, to, len, way) } }
    }

    /// # Safety
    /// As for [`Window::move_mapped`].
    #[inline(never)]
    unsafe fn move_long(&self, from: *const u8, to: *mut u8, len: usize, way: Direction) {
        if (from as usize).abs_diff(to as usize) < len {
            // SAFETY: contract of this function.
            return unsafe { copy(from, to, len) };
        }
        let mut gauge = self.gauges[way as usize].borrow_mut();
        let target = Target::streamed(gauge.streams(len, clock::nanoseconds));
        // It is over when this returns.
        gauge.end_round();
        // SAFETY: contract of this function; they do not overlap.
        unsafe { tern_copy::copy(to, from, len, Source::Any, target) };
    }

    /// [`Window::move_mapped`] of any layouts, as many bytes as both have.
    ///
    /// # Safety
    /// Both are memory of this process, valid for that.
    #[inline]
    pub(crate) unsafe fn move_sides(&self, from: &Side<'_>, to: &Side<'_>, way: Direction) {
        // SAFETY: contract of this function.
        unsafe {
            match (from, to) {
                (Side::Dense(from, len), Side::Dense(to, room)) => self.move_mapped(*from, *to, *len.min(room), way),
                _ => to.copy_from(from),
            }
        }
    }
}
