//! At which end a column is begun.
//!
//! A column of a matrix takes a cache line for each of its blocks, and most often a page. Where these are more than the caches and the processor's
//! table of pages have room for, whoever goes through it from the same end each time finds nothing of it there: what comes next was just put away
//! for what came before it. From the end at which the last copy stopped, the first part is there still. Exchanges of columns of doubles
//! out of rows of 8 KiB take 3 to 15 % less so on a Xeon, and those of longer blocks, in one copy from column to column, 14 to 30 %; where the
//! program has touched all of the matrix in between, it makes no difference.

use std::sync::atomic::{AtomicBool, Ordering};
use tern_policy::rules;

use super::{Shape, Steps};

/// How many blocks are copied from a column to another at least. Fewer are all there anyway.
const MANY: u64 = 64;
/// The same between a column and dense memory. Fewer are most often a piece of a message, whose pieces go from the first to the last
/// (columns of doubles by turns take 7 % longer if each piece turns).
const MANY_PACKED: u64 = 512;
/// How far they lie apart at least: nearer ones take part of the caches only where the stride is a power of two, and few pages.
const WIDE: usize = 2048;

/// For columns by their address, whether the last copy began at the end. No more than a hint: columns may share a place, and threads race for it.
static AT_THE_END: [AtomicBool; 256] = [const { AtomicBool::new(false) }; 256];

/// The place of the column at `address`.
fn place(address: usize) -> &'static AtomicBool {
    // Fibonacci hashing: the multiplier is 2^64 divided by the golden ratio, and the highest bits are mixed best.
    let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &AT_THE_END[(hash >> 56) as usize]
}

/// Whether a copy had better begin with the last block. `sides`: where the source and the target begin, and their steps. Not where blocks of the
/// target may overlap: the last one counts then.
#[inline]
pub(super) fn begins_at_the_end(shape: Shape, sides: [(*const u8, Steps); 2]) -> bool {
    let blocks = shape.count.saturating_mul(shape.rows);
    let turns = || column(blocks, sides).is_some_and(|address| turn(place(address)));
    blocks >= MANY && are_apart(shape, sides[1].1) && turns() && rules::TURN_COLUMNS.applies()
}

/// Whether no block can overlap another. Not said of rows that lie between each other's blocks.
fn are_apart(shape: Shape, steps: Steps) -> bool {
    let (stride, row) = (steps.stride.unsigned_abs() as u64, steps.row.unsigned_abs() as u64);
    let of_a_row = stride.saturating_mul(shape.count - 1).saturating_add(shape.block);
    (shape.count == 1 || stride >= shape.block) && (shape.rows == 1 || row >= of_a_row)
}

/// The address of a column of which so many blocks are copied, if that is one of the sides, and they are enough.
fn column(blocks: u64, sides: [(*const u8, Steps); 2]) -> Option<usize> {
    let [source, target] = sides.map(|(at, steps)| (steps.stride.unsigned_abs() >= WIDE).then_some(at as usize));
    let least = if source.is_some() && target.is_some() { MANY } else { MANY_PACKED };
    source.or(target).filter(|_| blocks >= least)
}

/// Whether it is the end's turn.
fn turn(at_the_end: &AtomicBool) -> bool {
    // Relaxed: a hint.
    let end = !at_the_end.load(Ordering::Relaxed);
    at_the_end.store(end, Ordering::Relaxed);
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::copy_grid;

    #[test]
    fn columns_are_begun_at_either_end_by_turns() {
        let sides = |from, to| [(0x1000 as *const u8, Steps::of(from)), (0x2000 as *const u8, Steps::of(to))];
        assert_eq!(column(MANY_PACKED, sides(8192, 8)), Some(0x1000));
        assert_eq!(column(MANY_PACKED, sides(8, -8192)), Some(0x2000));
        assert_eq!(column(MANY_PACKED, sides(8, 1024)), None);
        assert_eq!(column(MANY_PACKED - 1, sides(8192, 8)), None);
        assert_eq!(column(MANY, sides(2048, 8192)), Some(0x1000));
        assert_eq!(column(MANY - 1, sides(2048, 8192)), None);
        let column = AtomicBool::new(false);
        assert_eq!([(); 4].map(|()| turn(&column)), [true, false, true, false]);
    }

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
