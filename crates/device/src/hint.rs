//! Hints to the processor: a line will be read, or written, soon.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Fetches the line at `address`, whatever that is.
#[inline]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; no address can fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The value, loaded as it is, alone: for what was stored so a moment ago, beside others. A load that is wider than those stores waits until
/// they have left the processor's store buffer, where they stand behind stores to lines that other cores hold: 0.1 to 0.2 us.
#[inline(always)]
pub fn as_stored<T: Copy>(value: &T) -> T {
    // SAFETY: a reference to a plain value; volatile keeps the load apart from others.
    unsafe { std::ptr::from_ref(value).read_volatile() }
}

/// [`prefetch`] for the lines of `len` bytes at `start`.
#[inline]
pub fn prefetch_lines(start: *const u8, len: usize) {
    for at in (0..len).step_by(LINE) {
        prefetch(start.wrapping_add(at));
    }
}

/// Fetches the line at `address` and takes it from other cores, so that a store need not wait for it.
#[inline]
pub fn prefetch_for_writing<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; no address can fault, and processors that do not know it ignore it.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// True when [`demote`] does something, as far as can be known (CLDEMOTE: leaf 7, ECX, bit 25; Intel's manual, volume 2). Hypervisors may hide
/// that (leaf 1, ECX, bit 31 tells of one), but the instruction works all the same, and where it does not, it does no harm.
pub fn can_demote() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__cpuid, __cpuid_count};
        use std::sync::LazyLock;
        // Once: each question leaves a virtual machine.
        static CAN: LazyLock<bool> = LazyLock::new(|| {
            let first = __cpuid(0);
            let vendor = [first.ebx, first.edx, first.ecx].map(u32::to_le_bytes);
            let hidden = || vendor.as_flattened() == b"GenuineIntel" && __cpuid(1).ecx >> 31 & 1 == 1;
            first.eax >= 7 && (__cpuid_count(7, 0).ecx >> 25 & 1 == 1 || hidden())
        });
        *CAN
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Says that another core will read the line at `address`, and this one not again: it goes to the cache that
/// both share, from where the other core has it in half the time (on an Intel Xeon of 2023 75 ns instead of 150).
#[inline]
pub fn demote<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; no address can fault, and processors that do not know it ignore it.
    unsafe {
        std::arch::asm!("cldemote [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// [`demote`] for the lines of `len` bytes at `start`, the last ones first: who waits for them has begun to read at the front.
#[inline(always)]
pub fn demote_lines(start: *const u8, len: usize) {
    for at in (0..len).step_by(LINE).rev() {
        demote(start.wrapping_add(at));
    }
}
