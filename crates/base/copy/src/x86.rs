//! Loops for x86-64.

use super::kernel::Kernel;
use super::{LINE, Loops, ptr_copy};
use std::arch::asm;
use std::arch::x86_64::*;

/// Bytes that are read before the first of them is stored.
const BLOCK: usize = 256;
/// The same where stores go to the caches: if the source is in none, and the target in another core's, 128 take seven eighths of the
/// time of 256, and 64 take longer; in caches it does not matter.
const SHORT_BLOCK: usize = 128;

/// Bytes from what is stored to what is asked for, to be written then.
const AHEAD: usize = 1 << 10;
/// The same of what is read.
const FOLLOWED: usize = 2 << 10;
/// And where what is read is long.
const FOLLOWED_FAR: usize = 8 << 10;

/// The processor's maker, by the first letters of its name.
fn is_made_by(maker: [u8; 4]) -> bool {
    __cpuid(0).ebx == u32::from_le_bytes(maker)
}

/// Intel's.
fn is_intel() -> bool {
    is_made_by(*b"Genu")
}

/// See [`super::keeps_lines_loaded_once`].
pub(super) fn keeps_lines_loaded_once() -> bool {
    !is_intel()
}

/// True when reading a line that another core has written is best followed by writing it back.
/// Measured on AMD's Zen 4 only, so nobody else gets it.
fn pays_write_back() -> bool {
    has_write_back() && is_made_by(*b"Auth")
}

/// True when lines that another core has are to be asked for before they are written, and those of a long run before they are read. Measured
/// on an Intel Xeon only; on AMD's processors that were tried before neither helped.
fn pays_asking() -> bool {
    is_intel()
}

/// CLWB: leaf 7, EBX, bit 24 (AMD's manual, volume 3; Intel's, volume 2).
fn has_write_back() -> bool {
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ebx >> 24 & 1 == 1
}

/// The loops for this processor.
pub(super) fn choose() -> Loops {
    let mut loops = Loops::PORTABLE;
    loops.stream = if is_x86_feature_detected!("avx512f") {
        avx512::<STREAM>
    } else if is_x86_feature_detected!("avx2") {
        avx2::<STREAM>
    } else {
        sse2::<STREAM>
    };
    loops.take_and_stream = loops.stream;
    loops.stream_fresh = loops.stream;
    loops.plain = if is_x86_feature_detected!("avx2") { avx2::<PLAIN> } else { sse2::<PLAIN> };
    if pays_asking() && is_x86_feature_detected!("avx2") {
        loops.give = Some(avx2::<ASK>);
        loops.follow = Some(avx2::<FOLLOW>);
        loops.follow_far = Some(avx2::<FOLLOW_FAR>);
        let wide = is_x86_feature_detected!("avx512f");
        loops.fresh = Some(if wide { avx512::<HALVES> } else { avx2::<HALVES> });
        loops.stream_fresh = if wide { avx512::<{ STREAM | HALVES }> } else { avx2::<{ STREAM | HALVES }> };
    }
    if pays_write_back() && is_x86_feature_detected!("avx2") {
        loops.take = avx2::<WRITE_BACK>;
        loops.take_and_stream = avx2::<{ STREAM | WRITE_BACK }>;
        loops.give_back = write_back;
    }
    loops
}

/// Adds all loops that this processor can run.
pub(super) fn list(all: &mut Vec<Kernel>) {
    let mut add = |name, run| all.push(Kernel { name, run });
    add("movsb", movsb);
    add("sse2", sse2::<PLAIN>);
    add("sse2-stream", sse2::<STREAM>);
    if is_x86_feature_detected!("avx2") {
        add("avx2", avx2::<PLAIN>);
        add("avx2-stream", avx2::<STREAM>);
        add("avx2-give", avx2::<ASK>);
        add("avx2-follow", avx2::<FOLLOW>);
        add("avx2-follow-far", avx2::<FOLLOW_FAR>);
        add("avx2-halves", avx2::<HALVES>);
        add("avx2-halves-stream", avx2::<{ STREAM | HALVES }>);
        if has_write_back() {
            add("avx2-take", avx2::<WRITE_BACK>);
            add("avx2-take-stream", avx2::<{ STREAM | WRITE_BACK }>);
        }
    }
    if is_x86_feature_detected!("avx512f") {
        add("avx512", avx512::<PLAIN>);
        add("avx512-stream", avx512::<STREAM>);
        add("avx512-halves", avx512::<HALVES>);
        add("avx512-halves-stream", avx512::<{ STREAM | HALVES }>);
        if has_write_back() {
            add("avx512-take", avx512::<WRITE_BACK>);
            add("avx512-take-stream", avx512::<{ STREAM | WRITE_BACK }>);
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

/// Hints the processor to fetch a line.
#[inline]
fn prefetch(line: *const u8) {
    // SAFETY: a hint, which cannot fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

/// The same, to the second cache: what is far ahead has no room in the first.
#[inline]
fn prefetch_far(line: *const u8) {
    // SAFETY: a hint, which cannot fault.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
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

/// How a loop copies: any of these bits, or none.
const PLAIN: u8 = 0;
/// Stores pass the caches, and a fence orders them with what follows.
const STREAM: u8 = 1;
/// The source's lines are written back once they have been read.
const WRITE_BACK: u8 = 2;
/// The target's lines are asked for ahead.
const ASK: u8 = 4;
/// The source's lines are, also of what follows behind its end.
const FOLLOW: u8 = 8;
/// The same from far ahead.
const FOLLOW_FAR: u8 = 16;
/// Both halves at the same time: the processor fetches ahead in each.
const HALVES: u8 = 32;

/// A loop over vectors: aligned stores, in order, from the target's first whole line on; the
/// ends go to the C library.
macro_rules! vector_loop {
    ($name:ident, $feature:literal, $vector:ty, $load:ident, $store:ident, $stream:ident) => {
        /// # Safety
        /// As for `copy_nonoverlapping`; the processor has what the name says, and CLWB with
        /// [`WRITE_BACK`].
        unsafe fn $name<const HOW: u8>(to: *mut u8, from: *const u8, len: usize) {
            #[target_feature(enable = $feature)]
            #[inline]
            unsafe fn block<const HOW: u8, const VECTORS: usize>(to: *mut u8, from: *const u8) {
                const WIDTH: usize = size_of::<$vector>();
                // SAFETY: the block is within both; `to` is aligned to a line.
                unsafe {
                    let mut vectors = [$load(from.cast()); VECTORS];
                    for (i, vector) in vectors.iter_mut().enumerate().skip(1) {
                        *vector = $load(from.add(i * WIDTH).cast());
                    }
                    for (i, vector) in vectors.into_iter().enumerate() {
                        let to = to.add(i * WIDTH);
                        if HOW & STREAM != 0 {
                            $stream(to.cast(), vector);
                        } else {
                            $store(to.cast(), vector);
                        }
                    }
                }
            }
            #[target_feature(enable = $feature)]
            unsafe fn blocks<const HOW: u8>(to: *mut u8, from: *const u8, len: usize) -> usize {
                let long = HOW & (STREAM | WRITE_BACK) != 0;
                let step = if long { BLOCK } else { SHORT_BLOCK };
                let block = if long {
                    block::<HOW, { BLOCK / size_of::<$vector>() }>
                } else {
                    block::<HOW, { SHORT_BLOCK / size_of::<$vector>() }>
                };
                let halves = if HOW & HALVES != 0 { 2 } else { 1 };
                let half = len / halves / step * step;
                let mut at = 0;
                while at + step <= half {
                    if HOW & ASK != 0 && at + AHEAD + step <= len {
                        for line in (0..step).step_by(LINE) {
                            prefetch_for_writing(to.wrapping_add(at + AHEAD + line));
                        }
                    }
                    if HOW & FOLLOW != 0 {
                        for line in (0..step).step_by(LINE) {
                            prefetch(from.wrapping_add(at + FOLLOWED + line));
                        }
                    }
                    if HOW & FOLLOW_FAR != 0 {
                        for line in (0..step).step_by(LINE) {
                            prefetch_far(from.wrapping_add(at + FOLLOWED_FAR + line));
                        }
                    }
                    // SAFETY: the block is within both, and so is the one of the other half; `to` is aligned to a line, and a half a
                    // multiple of lines.
                    unsafe {
                        let (to, from) = (to.add(at), from.add(at));
                        block(to, from);
                        if HOW & HALVES != 0 {
                            block(to.add(half), from.add(half));
                        }
                        if HOW & WRITE_BACK != 0 {
                            // However `from` is aligned, these lines have been read to their end:
                            // to read a line that was written back costs a memory access.
                            write_back(from.map_addr(|at| at / LINE * LINE), BLOCK);
                        }
                    }
                    at += step;
                }
                at * halves
            }
            let head = to.align_offset(LINE).min(len);
            // SAFETY: head, blocks and tail make up the whole.
            unsafe {
                ptr_copy(to, from, head);
                let done = head + blocks::<HOW>(to.add(head), from.add(head), len - head);
                ptr_copy(to.add(done), from.add(done), len - done);
                if HOW & WRITE_BACK != 0 && done < len {
                    write_back(from.add(done), len - done);
                }
                if HOW & STREAM != 0 {
                    _mm_sfence();
                }
            }
        }
    };
}

vector_loop!(sse2, "sse2", __m128i, _mm_loadu_si128, _mm_store_si128, _mm_stream_si128);
vector_loop!(avx2, "avx2", __m256i, _mm256_loadu_si256, _mm256_store_si256, _mm256_stream_si256);
vector_loop!(avx512, "avx512f", __m512i, _mm512_loadu_si512, _mm512_store_si512, _mm512_stream_si512);
