//! Copies of bytes between the program's memory and payloads of the lines.

use tern_copy::{Source, Target};

/// Payloads up to this length are asked for early, where they do not lie in their cells.
pub(crate) const FETCHED: usize = 2 << 10;
/// Copies bytes, of which there are most often a few.
///
/// # Safety
/// Both are valid for `len` bytes and do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match len {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => tern_copy::plain(to, from, len),
        }
    }
}

/// The same into a payload of the lines: another process has read what this one has given in that place before. `asked`: lines of one that
/// is not long are asked for before it is written ([`FETCHED`]), where not all wait for all.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub(crate) unsafe fn give(from: *const u8, to: &mut [u8], asked: bool) {
    let len = to.len();
    let short = if asked { FETCHED } else { tern_copy::SHORT - 1 };
    // SAFETY: the caller's promise.
    unsafe { if len <= short { copy(from, to.as_mut_ptr(), len) } else { give_long(from, to) } }
}

/// # Safety
/// As for [`copy`].
#[cold]
unsafe fn give_long(from: *const u8, to: &mut [u8]) {
    // SAFETY: the caller's promise.
    unsafe { tern_copy::copy(to.as_mut_ptr(), from, to.len(), Source::Any, Target::Peer) };
}
