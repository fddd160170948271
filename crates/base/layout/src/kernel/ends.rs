//! At which end a copy of a column begins, as [`tern_policy::turn_columns`] decides.

use super::{Shape, Steps};
use tern_policy::turn_columns::{self, Side};

/// Whether a copy had better begin with the last block. `sides`: where the source and the target begin, and their steps. Not where blocks of the
/// target may overlap: the last one counts then.
#[inline]
pub(super) fn begins_at_the_end(shape: Shape, sides: [(*const u8, Steps); 2]) -> bool {
    let side = |(at, steps): (*const u8, Steps)| Side { address: at as usize, stride: steps.stride.unsigned_abs() };
    let blocks = shape.count.saturating_mul(shape.rows);
    turn_columns::begins_at_the_end(blocks, sides.map(side), || are_apart(shape, sides[1].1))
}

/// Whether no block can overlap another. Not said of rows that lie between each other's blocks.
fn are_apart(shape: Shape, steps: Steps) -> bool {
    let (stride, row) = (steps.stride.unsigned_abs() as u64, steps.row.unsigned_abs() as u64);
    let of_a_row = stride.saturating_mul(shape.count - 1).saturating_add(shape.block);
    (shape.count == 1 || stride >= shape.block) && (shape.rows == 1 || row >= of_a_row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::copy_grid;
    use tern_policy::turn_columns::{MANY_PACKED, WIDE};

    #[test]
    fn blocks_that_overlap_are_told() {
        let shape = Shape { block: 3000, count: 4, rows: 2 };
        let steps = |stride, row| Steps { stride, row };
        assert!(are_apart(shape, steps(3000, 12000)) && are_apart(shape, steps(-4096, 16384)));
        assert!(!are_apart(shape, steps(2999, 12000)) && !are_apart(shape, steps(3000, 11999)));
        assert!(
            are_apart(Shape { count: 1, ..shape }, steps(0, 3000))
                && are_apart(Shape { rows: 1, ..shape }, steps(3000, 0))
        );
    }

    /// Whoever receives into blocks that overlap gets the last one, each time.
    #[test]
    fn of_blocks_that_overlap_the_last_one_counts() {
        const COUNT: usize = MANY_PACKED as usize;
        const BLOCK: usize = WIDE + 100;
        let shape = Shape { block: BLOCK as u64, count: COUNT as u64, rows: 1 };
        let from: Vec<u8> = (0..COUNT * BLOCK).map(|i| (i / BLOCK) as u8).collect();
        for turn in 0..4 {
            let mut to = vec![0; COUNT * WIDE + 100];
            // SAFETY: all blocks lie within their memory.
            unsafe {
                copy_grid(shape, to.as_mut_ptr(), Steps::of(WIDE as i64), from.as_ptr(), Steps::of(BLOCK as i64));
            }
            let last = |at: usize| (at / WIDE).min(COUNT - 1) as u8;
            assert!(to.iter().enumerate().all(|(at, &byte)| byte == last(at)), "turn {turn}");
        }
    }

    /// Whichever end a copy begins at, every block comes to its place.
    #[test]
    fn both_ends_give_the_same() {
        const COUNT: usize = 120;
        const ROWS: usize = 5;
        const BLOCK: usize = 24;
        let grid = |stride: usize| Steps { stride: stride as isize, row: ((COUNT + 1) * stride) as isize };
        let dense = Steps { stride: BLOCK as isize, row: (COUNT * BLOCK) as isize };
        let shape = Shape { block: BLOCK as u64, count: COUNT as u64, rows: ROWS as u64 };
        let from: Vec<u8> = (0..ROWS * (COUNT + 1) * 4104).map(|i| (i * 7 + i / 251) as u8 | 1).collect();
        for (to_steps, from_steps) in [(dense, grid(4096)), (grid(4096), dense), (grid(4104), grid(4096))] {
            for turn in 0..4 {
                let mut to = vec![0; from.len()];
                // SAFETY: all blocks lie within their memory.
                unsafe { copy_grid(shape, to.as_mut_ptr(), to_steps, from.as_ptr(), from_steps) };
                let mut expected = vec![0; to.len()];
                for (row, block) in (0..ROWS).flat_map(|row| (0..COUNT).map(move |block| (row, block))) {
                    let place = |steps: Steps| row * steps.row as usize + block * steps.stride as usize;
                    expected[place(to_steps)..][..BLOCK].copy_from_slice(&from[place(from_steps)..][..BLOCK]);
                }
                assert!(to == expected, "turn {turn}");
            }
        }
    }
}
