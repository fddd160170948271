//! Blocks at a stride: the layouts that another process can be told of in a few words.

use std::ptr;

use crate::leaf::Leaf;
use crate::program::Grid;
use crate::transfer::Step;
use crate::{Count, Type};

/// Blocks of `block` bytes, `stride` bytes from one to the next, with `len` bytes of data in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Bytes of data in all.
    pub len: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Bytes from the beginning of a block to that of the next.
    pub stride: i64,
}

impl Blocks {
    fn leaf(&self, skip: u64) -> Leaf {
        let count = self.len / self.block;
        let shape = Grid { at: 0, block: self.block, count, stride: self.stride, rows: 1, row_stride: 0 };
        Leaf::new(&shape, 0, skip)
    }
}

impl Type {
    /// The data of `count` elements as blocks, and the offset of the first one from the buffer
    /// address, if it has so simple a shape.
    pub fn blocks(&self, count: Count) -> Option<(i64, Blocks)> {
        let piece = self.whole(count)?;
        let len = piece.size();
        let blocks = Blocks { len, block: piece.block, stride: piece.stride };
        (piece.rows == 1 && len > 0).then_some((piece.at, blocks))
    }
}

/// Copies `len` bytes of data, from byte `skip` of it on, from blocks whose first begins at `source`
/// to others whose first begins at `target`.
///
/// # Safety
/// `skip + len` is at most the data of both; all of it can be read and written, and the two do not
/// overlap.
pub unsafe fn copy_blocks(to: &Blocks, target: *mut u8, from: &Blocks, source: *const u8, skip: u64, len: u64) {
    if len == 0 {
        return;
    }
    let (mut to, mut from) = (to.leaf(skip), from.leaf(skip));
    let mut left = len;
    while left > 0 {
        let Some(step) = Step::between(&to, &from, left) else {
            // A few bytes that do not fit each other.
            let ((to_at, to_len, _), (from_at, from_len, _)) = (to.front(), from.front());
            let bytes = to_len.min(from_len).min(left);
            // SAFETY: within a block of both.
            unsafe {
                let source = source.wrapping_offset(from_at as isize);
                ptr::copy_nonoverlapping(source, target.wrapping_offset(to_at as isize), bytes as usize);
            }
            to.advance_bytes(bytes);
            from.advance_bytes(bytes);
            left -= bytes;
            continue;
        };
        // SAFETY: these blocks are within both.
        left -= unsafe { step.copy(&mut to, target, &mut from, source) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Where byte `at` of the data lies.
    fn offset(blocks: &Blocks, at: u64) -> i64 {
        (at / blocks.block) as i64 * blocks.stride + (at % blocks.block) as i64
    }

    fn blocks(len: u64) -> impl Strategy<Value = Blocks> {
        let divisors: Vec<u64> = (1..=len).filter(|block| len.is_multiple_of(*block)).collect();
        (prop::sample::select(divisors), 0..40i64, any::<bool>()).prop_map(move |(block, gap, back)| {
            let stride = block as i64 + gap;
            Blocks { len, block, stride: if back { -stride } else { stride } }
        })
    }

    fn pair() -> impl Strategy<Value = (Blocks, Blocks, u64, u64)> {
        (1..600u64, 1..600u64)
            .prop_flat_map(|(a, b)| (blocks(a), blocks(b), 0..a.min(b)))
            .prop_flat_map(|(to, from, skip)| (Just(to), Just(from), Just(skip), 0..=to.len.min(from.len) - skip))
    }

    proptest! {
        #[test]
        fn every_byte_goes_where_it_belongs((to, from, skip, len) in pair()) {
            const MIDDLE: usize = 30_000;
            let source: Vec<u8> = (0..2 * MIDDLE).map(|at| (at % 251) as u8).collect();
            let mut target = vec![255u8; 2 * MIDDLE];
            let mut expected = target.clone();
            for at in skip..skip + len {
                let (to, from) = (offset(&to, at), offset(&from, at));
                expected[(MIDDLE as i64 + to) as usize] = source[(MIDDLE as i64 + from) as usize];
            }
            // SAFETY: all offsets lie within the vectors.
            unsafe {
                let (at, of) = (target.as_mut_ptr().add(MIDDLE), source.as_ptr().add(MIDDLE));
                copy_blocks(&to, at, &from, of, skip, len);
            }
            prop_assert!(target == expected);
        }
    }
}
