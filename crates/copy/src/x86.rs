//! Loops for x86-64.

use super::kernel::Kernel;
use super::{Loops, ptr_copy};
use std::arch::asm;
use std::arch::x86_64::*;

const LINE: usize = 64;
/// Bytes that are read before the first of them is stored.
const BLOCK: usize = 256;
/// The same where stores go to the caches: if the source is in none, and the target in another core's, 128 take seven eighths of the
/// time of 256, and 64 take longer; in caches it does not matter.
const SHORT_BLOCK: usize = 128;

/// Bytes from what is stored to what is asked for, to be written then: less does not help as much.
const AHEAD: usize = 1 << 10;

/// The processor's maker, by the first letters of its name.
fn is_made_by(maker: [u8; 4]) -> bool {
    __cpuid(0).ebx == u32::from_le_bytes(maker)
}

/// True when reading a line that another core has written is best followed by writing it back.
/// Measured on AMD's Zen 4 only, so nobody else gets it.
fn pays_write_back() -> bool {
    has_write_back() && is_made_by(*b"Auth")
}

/// True when lines that another core has are to be asked for before they are written. It does not help on AMD's Zen 4.
fn pays_asking() -> bool {
    is_made_by(*b"Genu")
}

/// CLWB: leaf 7, EBX, bit 24 (AMD's manual, volume 3; Intel's, volume 2).
fn has_write_back() -> bool {
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx >> 24 & 1 == 1
}

/// The loops for this processor.
pub(super) fn choose() -> Loops {
    let mut loops = Loops::PORTABLE;
    loops.stream = if is_x86_feature_detected!("avx512f") {
        avx512::<true, false, false>
    } else if is_x86_feature_detected!("avx2") {
        avx2::<true, false, false>
    } else {
        sse2::<true, false, false>
    };
    loops.take_and_stream = loops.stream;
    loops.plain =
        if is_x86_feature_detected!("avx2") { avx2::<false, false, false> } else { sse2::<false, false, false> };
    if pays_asking() && is_x86_feature_detected!("avx2") {
        loops.give = Some(avx2::<false, false, true>);
    }
    if pays_write_back() && is_x86_feature_detected!("avx2") {
        loops.take = avx2::<false, true, false>;
        loops.take_and_stream = avx2::<true, true, false>;
        loops.give_back = write_back;
    }
    loops
}

/// Adds all loops that this processor can run.
pub(super) fn list(all: &mut Vec<Kernel>) {
    let mut add = |name, run| all.push(Kernel { name, run });
    add("movsb", movsb);
    add("sse2", sse2::<false, false, false>);
    add("sse2-stream", sse2::<true, false, false>);
    if is_x86_feature_detected!("avx2") {
        add("avx2", avx2::<false, false, false>);
        add("avx2-stream", avx2::<true, false, false>);
        add("avx2-give", avx2::<false, false, true>);
        if has_write_back() {
            add("avx2-take", avx2::<false, true, false>);
            add("avx2-take-stream", avx2::<true, true, false>);
        }
    }
    if is_x86_feature_detected!("avx512f") {
        add("avx512", avx512::<false, false, false>);
        add("avx512-stream", avx512::<true, false, false>);
        if has_write_back() {
            add("avx512-take", avx512::<false, true, false>);
            add("avx512-take-stream", avx512::<true, true, false>);
        }
    }
}

/// # Safety
/// As for `copy_nonoverlapping`.
unsafe fn movsb(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the same contract; the direction flag is clear (System V ABI, 3.2.1).
    unsafe {
        asm!("rep movsb", inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
}

/// Hints the processor to fetch a line and own it.
#[inline]
pub(super) fn prefetch_for_writing(line: *mut u8) {
    // SAFETY: a hint, which cannot fault; processors that do not know it ignore it.
    unsafe { asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags)) };
}

/// Writes the lines of `len` bytes at `from` back to memory.
///
/// # Safety
/// The memory is mapped, and the processor has CLWB.
unsafe fn write_back(from: *const u8, len: usize) {
    let skew = from as usize % LINE;
    for at in (0..len + skew).step_by(LINE) {
        let line = from.wrapping_sub(skew).wrapping_add(at);
        // SAFETY: a line of the memory; the contents do not change.
        unsafe { asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)) };
    }
}

/// A loop over vectors: aligned stores, in order, from the target's first whole line on; the
/// ends go to the C library.
///
/// STREAM: stores pass the caches, and a fence orders them with what follows. WRITE_BACK: the
/// source's lines are written back once they have been read. ASK: the target's lines are asked for ahead.
macro_rules! vector_loop {
    ($name:ident, $feature:literal, $vector:ty, $load:ident, $store:ident, $stream:ident) => {
        /// # Safety
        /// As for `copy_nonoverlapping`; the processor has what the name says, and CLWB with
        /// WRITE_BACK.
        unsafe fn $name<const STREAM: bool, const WRITE_BACK: bool, const ASK: bool>(
            to: *mut u8, from: *const u8, len: usize,
        ) {
            #[target_feature(enable = $feature)]
            #[inline]
            unsafe fn block<const STREAM: bool, const VECTORS: usize>(to: *mut u8, from: *const u8) {
                const WIDTH: usize = size_of::<$vector>();
                // SAFETY: the block is within both; `to` is aligned to a line.
                unsafe {
                    let mut vectors = [$load(from.cast()); VECTORS];
                    for (i, vector) in vectors.iter_mut().enumerate().skip(1) {
                        *vector = $load(from.add(i * WIDTH).cast());
                    }
                    for (i, vector) in vectors.into_iter().enumerate() {
                        let to = to.add(i * WIDTH);
                        if STREAM {
                            $stream(to.cast(), vector);
                        } else {
                            $store(to.cast(), vector);
                        }
                    }
                }
            }
            #[target_feature(enable = $feature)]
            unsafe fn blocks<const STREAM: bool, const WRITE_BACK: bool, const ASK: bool>(
                to: *mut u8, from: *const u8, len: usize,
            ) -> usize {
                let long = STREAM || WRITE_BACK;
                let step = if long { BLOCK } else { SHORT_BLOCK };
                let mut at = 0;
                while at + step <= len {
                    if ASK && at + AHEAD + step <= len {
                        for line in (0..step).step_by(LINE) {
                            prefetch_for_writing(to.wrapping_add(at + AHEAD + line));
                        }
                    }
                    // SAFETY: the block is within both; `to` is aligned to a line.
                    unsafe {
                        let (to, from) = (to.add(at), from.add(at));
                        if long {
                            block::<STREAM, { BLOCK / size_of::<$vector>() }>(to, from);
                        } else {
                            block::<STREAM, { SHORT_BLOCK / size_of::<$vector>() }>(to, from);
                        }
                        if WRITE_BACK {
                            // However `from` is aligned, these lines have been read to their end:
                            // to read a line that was written back costs a memory access.
                            write_back(from.map_addr(|at| at / LINE * LINE), BLOCK);
                        }
                    }
                    at += step;
                }
                at
            }
            let head = to.align_offset(LINE).min(len);
            // SAFETY: head, blocks and tail make up the whole.
            unsafe {
                ptr_copy(to, from, head);
                let done = head + blocks::<STREAM, WRITE_BACK, ASK>(to.add(head), from.add(head), len - head);
                ptr_copy(to.add(done), from.add(done), len - done);
                if WRITE_BACK && done < len {
                    write_back(from.add(done), len - done);
                }
                if STREAM {
                    _mm_sfence();
                }
            }
        }
    };
}

vector_loop!(sse2, "sse2", __m128i, _mm_loadu_si128, _mm_store_si128, _mm_stream_si128);
vector_loop!(avx2, "avx2", __m256i, _mm256_loadu_si256, _mm256_store_si256, _mm256_stream_si256);
vector_loop!(avx512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_store_si512, _mm512_stream_si512);
