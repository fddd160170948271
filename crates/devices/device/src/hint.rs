//! Hints to the processor: a line will be read, or written, soon. Each architecture has a file with its instructions.

#[cfg_attr(target_arch = "x86_64", path = "hint/x86.rs")]
#[cfg_attr(target_arch = "aarch64", path = "hint/arm64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "hint/none.rs")]
mod instructions;

pub use instructions::{can_demote, demote};

/// Bytes of a cache line, or a part of it: where lines are longer (128 or 256 bytes on some arm64), each is asked for more than once, which
/// costs an instruction and no time.
const LINE: usize = 64;

/// The value, loaded as it is, alone: for what was stored so a moment ago, beside others. A load that is wider than those stores waits until
/// they have left the processor's store buffer, where they stand behind stores to lines that other cores hold: 0.1 to 0.2 us.
#[inline(always)]
pub fn as_stored<T: Copy>(value: &T) -> T {
    // SAFETY: a reference to a plain value; volatile keeps the load apart from others.
    unsafe { std::ptr::from_ref(value).read_volatile() }
}

/// Fetches the line at `address`, whatever that is.
#[inline]
pub fn prefetch<T>(address: *const T) {
    tern_atomics::fetch(address.cast(), 1, false);
    instructions::prefetch(address);
}

/// Fetches the line at `address` and takes it from other cores, so that a store need not wait for it.
#[inline]
pub fn prefetch_for_writing<T>(address: *const T) {
    tern_atomics::fetch(address.cast(), 1, true);
    instructions::prefetch_for_writing(address);
}

/// [`prefetch`] for the lines of `len` bytes at `start`.
#[inline]
pub fn prefetch_lines(start: *const u8, len: usize) {
    tern_atomics::fetch(start, len, false);
    for at in (0..len).step_by(LINE) {
        instructions::prefetch(start.wrapping_add(at));
    }
}

/// [`prefetch_for_writing`] for the lines of `len` bytes at `start`.
#[inline]
pub fn prefetch_lines_for_writing(start: *const u8, len: usize) {
    tern_atomics::fetch(start, len, true);
    for at in (0..len).step_by(LINE) {
        instructions::prefetch_for_writing(start.wrapping_add(at));
    }
}

/// [`demote`] for the lines of `len` bytes at `start`, the last ones first: who waits for them has begun to read at the front.
#[inline(always)]
pub fn demote_lines(start: *const u8, len: usize) {
    for at in (0..len).step_by(LINE).rev() {
        demote(start.wrapping_add(at));
    }
}
