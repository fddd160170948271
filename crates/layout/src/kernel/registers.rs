//! Grids whose blocks are better moved otherwise than the compiler would, on processors that were measured.

use std::sync::LazyLock;

use super::{Block, Fixed, Shape, Steps, grid_loop};

/// Blocks that lie so far apart have each a page of their own.
const PAGE: usize = 4096;

/// Intel's processors seem to take a line that one load has touched for one that nobody needs again, and leave it to memory. Columns of 64
/// bytes of a matrix take three times as long by one load of a line as by four of 16 bytes, which the compiler makes without being asked;
/// blocks of 65 bytes to 1 KiB take a sixth to a third longer by its copies than by halves of lines, and columns of doubles a twelfth
/// longer than where each line is touched four times (a Xeon of today, 1024 blocks that lie 8 KiB apart).
static TOUCHES_LINES_OFTEN: LazyLock<bool> =
    LazyLock::new(|| !tern_copy::keeps_lines_loaded_once() && is_x86_feature_detected!("avx2"));

type Loop = unsafe fn(Shape, *mut u8, Steps, *const u8, Steps);

/// The loop for such blocks, if there is a better one than the compiler's.
#[inline]
pub(super) fn choose(shape: Shape, from: Steps) -> Option<Loop> {
    match shape.block {
        8 if from.stride.unsigned_abs() >= PAGE && *TOUCHES_LINES_OFTEN => Some(doubles),
        65..=1024 if *TOUCHES_LINES_OFTEN => Some(by_halves),
        _ => None,
    }
}

/// # Safety
/// As `grid_loop`, for blocks of 8 bytes.
unsafe fn doubles(shape: Shape, to: *mut u8, to_steps: Steps, from: *const u8, from_steps: Steps) {
    // SAFETY: the same contract.
    unsafe { grid_loop(Touched, shape, to, to_steps, from, from_steps) }
}

/// Blocks of 32 bytes and more, by halves of lines.
///
/// # Safety
/// As `grid_loop`; the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn by_halves(shape: Shape, to: *mut u8, to_steps: Steps, from: *const u8, from_steps: Steps) {
    // SAFETY: the same contract.
    unsafe { grid_loop(Pieces::<32>(shape.block as usize), shape, to, to_steps, from, from_steps) }
}

/// One double, and the line that it comes from is touched three times more.
#[derive(Clone, Copy)]
struct Touched;

impl Block for Touched {
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        // SAFETY: within one block.
        unsafe {
            Fixed::<8>.copy(to, from);
            for _ in 0..3 {
                from.read_volatile();
            }
        }
    }
}

/// At least P bytes, P at a time; the last of them overlap.
#[derive(Clone, Copy)]
struct Pieces<const P: usize>(usize);

impl<const P: usize> Block for Pieces<P> {
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        let last = self.0 - P;
        // SAFETY: every piece lies within one block.
        unsafe {
            let mut at = 0;
            while at < last {
                Fixed::<P>.copy(to.add(at), from.add(at));
                at += P;
            }
            Fixed::<P>.copy(to.add(last), from.add(last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every loop moves every block it is for, and nothing else, from dense memory and to it.
    #[test]
    fn all_loops_copy_their_blocks() {
        let mut loops: Vec<(&str, Loop, std::ops::RangeInclusive<usize>)> = vec![("doubles", doubles, 8..=8)];
        if is_x86_feature_detected!("avx2") {
            loops.push(("by_halves", by_halves, 65..=1024));
        }
        const COUNT: usize = 3;
        const ROWS: usize = 2;
        for (name, run, lengths) in loops {
            for block in lengths {
                let (stride, row) = (block + 13, COUNT * (block + 13) + 5);
                let shape = Shape { block: block as u64, count: COUNT as u64, rows: ROWS as u64 };
                let far = Steps { stride: stride as isize, row: row as isize };
                let near = Steps { stride: block as isize, row: (COUNT * block) as isize };
                let from: Vec<u8> = (0..ROWS * row).map(|i| (i * 7 + i / 251) as u8 | 1).collect();
                let mut dense = vec![0; ROWS * COUNT * block];
                let mut to = vec![0; from.len()];
                // SAFETY: both grids lie within their memory, and the loop is for these blocks.
                unsafe {
                    run(shape, dense.as_mut_ptr(), near, from.as_ptr(), far);
                    run(shape, to.as_mut_ptr(), far, dense.as_ptr(), near);
                }
                for (at, &byte) in to.iter().enumerate() {
                    let within = at % row < COUNT * stride && at % row % stride < block;
                    assert_eq!(byte, if within { from[at] } else { 0 }, "{name}, blocks of {block}, byte {at}");
                }
            }
        }
    }
}
