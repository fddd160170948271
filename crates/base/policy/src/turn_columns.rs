//! At which end a copy of a column begins: the rule `turn-columns`.
//!
//! A column of a matrix takes a cache line for each of its blocks, and most often a page. These may be more than the caches and the processor's
//! table of pages have room for. Then whoever goes through it from the same end each time finds nothing of it there, since what comes next was
//! just put away for what came before it. From the end at which the last copy stopped, the first part is there still. On a Xeon, exchanges of
//! columns of doubles out of rows of 8 KiB take 3 to 15 % less so. Those of longer blocks, in one copy from column to column, take 14 to 30 %
//! less. Where the program has touched all of the matrix in between, it makes no difference.

use crate::rules;
use core::sync::atomic::{AtomicBool, Ordering};

/// How many blocks are copied from a column to another at least. Fewer are all there anyway.
const MANY: u64 = 64;
/// The same between a column and dense memory. Fewer are most often a piece of a message, whose pieces go from the first to the last
/// (columns of doubles by turns take 7 % longer if each piece turns).
pub const MANY_PACKED: u64 = 512;
/// How far they lie apart at least, in bytes: nearer ones take part of the caches only where the stride is a power of two, and few pages.
pub const WIDE: usize = 2048;

/// For columns by their address, whether the last copy began at the end. No more than a hint: columns may share a place, and threads race for it.
static AT_THE_END: [AtomicBool; 256] = [const { AtomicBool::new(false) }; 256];

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// Where it begins.
    pub address: usize,
    /// Bytes from one block to the next, in either direction.
    pub stride: usize,
}

/// Whether a copy of so many blocks had better begin with the last one. `sides`: the source and the target. `are_apart`: no block of the target can
/// overlap another; where one may, the last one counts.
#[inline]
pub fn begins_at_the_end(blocks: u64, sides: [Side; 2], are_apart: impl FnOnce() -> bool) -> bool {
    let turns = || column(blocks, sides).is_some_and(|address| turn(place(address)));
    blocks >= MANY && are_apart() && turns() && rules::TURN_COLUMNS.applies()
}

/// The place of the column at `address`.
fn place(address: usize) -> &'static AtomicBool {
    // Fibonacci hashing: the multiplier is 2^64 divided by the golden ratio, and the highest bits are mixed best.
    let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &AT_THE_END[(hash >> 56) as usize]
}

/// The address of a column of which so many blocks are copied, if that is one of the sides, and they are enough.
fn column(blocks: u64, sides: [Side; 2]) -> Option<usize> {
    let [source, target] = sides.map(|side| (side.stride >= WIDE).then_some(side.address));
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

    fn sides(from: usize, to: usize) -> [Side; 2] {
        [Side { address: 0x1000, stride: from }, Side { address: 0x2000, stride: to }]
    }

    #[test]
    fn columns_are_begun_at_either_end_by_turns() {
        assert_eq!(column(MANY_PACKED, sides(8192, 8)), Some(0x1000));
        assert_eq!(column(MANY_PACKED, sides(8, 8192)), Some(0x2000));
        assert_eq!(column(MANY_PACKED, sides(8, 1024)), None);
        assert_eq!(column(MANY_PACKED - 1, sides(8192, 8)), None);
        assert_eq!(column(MANY, sides(2048, 8192)), Some(0x1000));
        assert_eq!(column(MANY - 1, sides(2048, 8192)), None);
        let column = AtomicBool::new(false);
        assert_eq!([(); 4].map(|()| turn(&column)), [true, false, true, false]);
    }

    #[test]
    fn blocks_that_may_overlap_are_begun_at_the_front() {
        let column = sides(8192, 8);
        assert!((0..4).all(|_| !begins_at_the_end(MANY_PACKED, column, || false)));
        assert!((0..4).all(|_| !begins_at_the_end(MANY - 1, column, || unreachable!("they are too few"))));
    }
}
