//! An architecture without loops of its own.

use super::Loops;
use super::kernel::Kernel;

/// The C library's for everything.
pub(super) fn choose() -> Loops {
    Loops::PORTABLE
}

/// There are none to add.
pub(super) fn list(_: &mut Vec<Kernel>) {}

/// See [`super::keeps_lines_loaded_once`].
pub(super) fn keeps_lines_loaded_once() -> bool {
    true
}

/// Nothing.
#[inline]
pub(super) fn prefetch_for_writing(_: *mut u8) {}
