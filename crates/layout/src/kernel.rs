//! Inner loops: move regular blocks between strided and dense memory.

use std::ptr;

use crate::leaf::Piece;

/// Runs `$body` with `N` as the block length where a fixed length pays, or else as a loop
/// with the length in a variable.
macro_rules! by_block {
    ($block:expr, $fixed:ident, $other:ident, ($($argument:expr),*)) => {
        match $block {
            1 => $fixed::<1>($($argument),*),
            2 => $fixed::<2>($($argument),*),
            4 => $fixed::<4>($($argument),*),
            8 => $fixed::<8>($($argument),*),
            12 => $fixed::<12>($($argument),*),
            16 => $fixed::<16>($($argument),*),
            24 => $fixed::<24>($($argument),*),
            32 => $fixed::<32>($($argument),*),
            48 => $fixed::<48>($($argument),*),
            64 => $fixed::<64>($($argument),*),
            block => $other(block as usize, $($argument),*),
        }
    };
}

/// Copies the blocks of `piece` to dense memory at `out`.
///
/// # Safety
/// Every block of `piece`, offsets from `base`, is readable; `out` takes `piece.size()` bytes;
/// the two do not overlap.
#[inline]
pub(crate) unsafe fn gather(piece: &Piece, base: *const u8, out: *mut u8) {
    let mut from = base.wrapping_offset(piece.at as isize);
    let mut to = out;
    let row = (piece.block * piece.count) as usize;
    for _ in 0..piece.rows {
        // SAFETY: the caller vouches for every block; `to` moves by what was written.
        unsafe {
            strided(
                to,
                piece.block as isize,
                from,
                piece.stride as isize,
                piece.block,
                piece.count,
            )
        };
        from = from.wrapping_offset(piece.row_stride as isize);
        to = to.wrapping_add(row);
    }
}

/// Copies dense memory at `input` to the blocks of `piece`.
///
/// # Safety
/// Every block of `piece`, offsets from `base`, is writable; `input` has `piece.size()` bytes;
/// the two do not overlap.
#[inline]
pub(crate) unsafe fn scatter(piece: &Piece, base: *mut u8, input: *const u8) {
    let mut to = base.wrapping_offset(piece.at as isize);
    let mut from = input;
    let row = (piece.block * piece.count) as usize;
    for _ in 0..piece.rows {
        // SAFETY: the caller vouches for every block; `from` moves by what was read.
        unsafe {
            strided(
                to,
                piece.stride as isize,
                from,
                piece.block as isize,
                piece.block,
                piece.count,
            )
        };
        to = to.wrapping_offset(piece.row_stride as isize);
        from = from.wrapping_add(row);
    }
}

/// Copies `count` blocks of `block` bytes, `from_stride` apart, to places `to_stride` apart.
///
/// # Safety
/// Every source block is readable, every target block writable, and no target overlaps a
/// source.
#[inline]
pub(crate) unsafe fn strided(
    to: *mut u8,
    to_stride: isize,
    from: *const u8,
    from_stride: isize,
    block: u64,
    count: u64,
) {
    if count == 1 {
        // SAFETY: one block, vouched for by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, block as usize) };
        return;
    }
    // SAFETY: the same contract.
    unsafe {
        by_block!(
            block,
            fixed,
            other,
            (to, to_stride, from, from_stride, count)
        )
    }
}

/// # Safety
/// As `strided`, for blocks of N bytes.
#[inline]
unsafe fn fixed<const N: usize>(
    mut to: *mut u8,
    to_stride: isize,
    mut from: *const u8,
    from_stride: isize,
    count: u64,
) {
    for _ in 0..count {
        // SAFETY: one block; an array of bytes has no alignment to keep.
        unsafe {
            to.cast::<[u8; N]>()
                .write_unaligned(from.cast::<[u8; N]>().read_unaligned())
        };
        to = to.wrapping_offset(to_stride);
        from = from.wrapping_offset(from_stride);
    }
}

/// # Safety
/// As `strided`.
unsafe fn other(
    block: usize,
    mut to: *mut u8,
    to_stride: isize,
    mut from: *const u8,
    from_stride: isize,
    count: u64,
) {
    for _ in 0..count {
        // SAFETY: one block, vouched for by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, block) };
        to = to.wrapping_offset(to_stride);
        from = from.wrapping_offset(from_stride);
    }
}
