//! Hints of arm64 (the Arm Architecture Reference Manual, PRFM).

use std::arch::asm;

/// Fetches the line at `address`, whatever that is.
#[inline]
pub fn prefetch<T>(address: *const T) {
    // SAFETY: a hint; no address can fault.
    unsafe { asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly)) };
}

/// Fetches the line at `address` and takes it from other cores, so that a store need not wait for it.
#[inline]
pub fn prefetch_for_writing<T>(address: *const T) {
    // SAFETY: a hint; no address can fault.
    unsafe { asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags)) };
}

/// True when [`demote`] does something: there is no such instruction.
pub fn can_demote() -> bool {
    false
}

/// Nothing.
#[inline]
pub fn demote<T>(_: *const T) {}
