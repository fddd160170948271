//! Grids whose blocks are better moved otherwise than the compiler would, on processors that were measured.

use std::sync::LazyLock;

use super::{Block, Fixed, Shape, Steps, grid_loop};

/// Half a cache line.
const HALF: usize = 32;

/// Intel's processors seem to take a line that one load has touched for one that nobody needs again, and leave it to memory. Columns of 64
/// bytes of a matrix take three times as long by one load of a line as by four of 16 bytes, which the compiler makes without being asked;
/// blocks of 65 bytes to 1 KiB take a sixth to a third longer by its copies than by halves of lines (a Xeon of today, 1024 blocks that lie
/// 8 KiB apart). Doubles are left to the compiler: where each line was touched four times, an exchange of columns took as long, or up to 9 %
/// longer, by sitting.
static TOUCHES_LINES_OFTEN: LazyLock<bool> =
    LazyLock::new(|| !tern_copy::keeps_lines_loaded_once() && is_x86_feature_detected!("avx2"));

/// Whether blocks of so many bytes had better be moved by [`by_halves`].
#[inline]
pub(super) fn go_by_halves(block: u64) -> bool {
    (65..=1024).contains(&block) && *TOUCHES_LINES_OFTEN
}

/// Blocks of 32 bytes and more, by halves of lines.
///
/// # Safety
/// As `grid_loop`; the processor has AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn by_halves(shape: Shape, to: *mut u8, to_steps: Steps, from: *const u8, from_steps: Steps) {
    // SAFETY: the same contract.
    unsafe { grid_loop(Halves(shape.block as usize), shape, to, to_steps, from, from_steps) }
}

/// At least 32 bytes, half a line at a time; the last two halves overlap.
#[derive(Clone, Copy)]
struct Halves(usize);

impl Block for Halves {
    #[inline(always)]
    unsafe fn copy(self, to: *mut u8, from: *const u8) {
        let last = self.0 - HALF;
        // SAFETY: every half lies within one block.
        unsafe {
            let mut at = 0;
            while at < last {
                Fixed::<HALF>.copy(to.add(at), from.add(at));
                at += HALF;
            }
            Fixed::<HALF>.copy(to.add(last), from.add(last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Loop = unsafe fn(Shape, *mut u8, Steps, *const u8, Steps);

    /// The loop of [`by_halves`] with the registers of any processor.
    ///
    /// # Safety
    /// As `grid_loop`.
    unsafe fn by_any_halves(shape: Shape, to: *mut u8, to_steps: Steps, from: *const u8, from_steps: Steps) {
        // SAFETY: the same contract.
        unsafe { grid_loop(Halves(shape.block as usize), shape, to, to_steps, from, from_steps) }
    }

    /// Every block is moved, and nothing else, from dense memory and to it.
    #[test]
    fn halves_copy_their_blocks() {
        all_blocks_are_copied(by_any_halves);
        if is_x86_feature_detected!("avx2") {
            all_blocks_are_copied(by_halves);
        } else {
            eprintln!("skipped: by_halves, no AVX2 here");
        }
    }

    fn all_blocks_are_copied(run: Loop) {
        const COUNT: usize = 3;
        const ROWS: usize = 2;
        // Miri takes minutes for all.
        for block in (65..=1024).step_by(if cfg!(miri) { 137 } else { 1 }) {
            let (stride, row) = (block + 13, COUNT * (block + 13) + 5);
            let shape = Shape { block: block as u64, count: COUNT as u64, rows: ROWS as u64 };
            let far = Steps { stride: stride as isize, row: row as isize };
            let near = Steps { stride: block as isize, row: (COUNT * block) as isize };
            let from: Vec<u8> = (0..ROWS * row).map(|i| (i * 7 + i / 251) as u8 | 1).collect();
            let mut dense = vec![0; ROWS * COUNT * block];
            let mut to = vec![0; from.len()];
            // SAFETY: both grids lie within their memory, and the loop is for these blocks and this processor.
            unsafe {
                run(shape, dense.as_mut_ptr(), near, from.as_ptr(), far);
                run(shape, to.as_mut_ptr(), far, dense.as_ptr(), near);
            }
            for (at, &byte) in to.iter().enumerate() {
                let within = at % row < COUNT * stride && at % row % stride < block;
                assert_eq!(byte, if within { from[at] } else { 0 }, "blocks of {block}, byte {at}");
            }
        }
    }
}
