//! Moving data: pack, unpack, and copies from one layout to another.

use std::mem::MaybeUninit;
use std::slice;

use crate::cursor::{Chunk, Cursor, Segments};
use crate::kernel::{Shape, Steps, copy_grid, transfer};
use crate::leaf::{Leaf, Piece};
use crate::program::Node;
use crate::{Count, Type};

impl Cursor {
    /// Packs the next bytes of the stream into `out`; returns how many, which is less than
    /// `out.len()` only at the end of the stream.
    ///
    /// # Safety
    /// `base` is the buffer address of the elements: every byte of data from the position on,
    /// as far as `out` takes it, is readable and does not lie in `out`.
    pub unsafe fn pack(&mut self, base: *const u8, out: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(chunk) = self.take((out.len() - done) as u64) {
            // SAFETY: the chunk is at most what is left of `out`; the caller vouches for the
            // data, which is only read.
            unsafe { transfer::<true>(&chunk, base.cast_mut(), out.as_mut_ptr().add(done)) };
            done += chunk.size() as usize;
        }
        done
    }

    /// Unpacks `input` to the next places of the stream; returns how many bytes were used,
    /// which is less than `input.len()` only at the end of the stream.
    ///
    /// # Safety
    /// As `pack`, with the data writable and not in `input`.
    pub unsafe fn unpack(&mut self, base: *mut u8, input: &[u8]) -> usize {
        let mut done = 0;
        while let Some(chunk) = self.take((input.len() - done) as u64) {
            // SAFETY: the chunk is at most what is left of `input`, which is only read; the
            // caller vouches for the data.
            unsafe { transfer::<false>(&chunk, base, input.as_ptr().add(done).cast_mut()) };
            done += chunk.size() as usize;
        }
        done
    }

    /// Copies at most `limit` bytes from the stream of `from` to this one, without a buffer
    /// between; returns how many: less than `limit` only when one of the streams ends.
    ///
    /// # Safety
    /// The next `limit` bytes of both streams lie in memory that may be read (`from_base`)
    /// and written (`base`), and the two do not overlap.
    pub unsafe fn copy_from(&mut self, base: *mut u8, from: &mut Cursor, from_base: *const u8, limit: u64) -> u64 {
        let mut tile = [MaybeUninit::<u8>::uninit(); TILE];
        let mut left = limit.min(self.remaining()).min(from.remaining());
        let all = left;
        while left > 0 {
            let (Some(target), Some(source)) = (self.leaf(), from.leaf()) else {
                break;
            };
            let Some(step) = Step::between(target, source, left) else {
                // Small runs that do not fit each other: through a buffer in the cache.
                let bytes = left.min(TILE as u64) as usize;
                // SAFETY: packing writes all `bytes` bytes, since as many are left in both
                // streams; the caller vouches for the data.
                unsafe {
                    let part = slice::from_raw_parts_mut(tile.as_mut_ptr().cast::<u8>(), bytes);
                    from.pack(from_base, part);
                    self.unpack(base, part);
                }
                left -= bytes as u64;
                continue;
            };
            // SAFETY: these blocks are within both streams.
            let bytes = unsafe { step.copy(target, base, source, from_base) };
            self.used(bytes);
            from.used(bytes);
            left -= bytes;
        }
        all - left
    }
}

/// Bytes of the buffer between small runs that do not fit each other.
const TILE: usize = 4096;
/// A step with fewer blocks and fewer bytes than these goes through the buffer.
const MANY: u64 = 4;
const LARGE: u64 = 512;

/// Blocks that are copied at once from one leaf to another.
pub(crate) struct Step {
    pub block: u64,
    pub count: u64,
    pub to: Side,
    pub from: Side,
}

/// One side of a step. `whole`: its blocks are whole blocks of the leaf, else they lie in one.
pub(crate) struct Side {
    pub at: i64,
    pub stride: i64,
    whole: bool,
}

impl Side {
    fn advance(&self, leaf: &mut Leaf, step: &Step) {
        if self.whole {
            leaf.advance_blocks(step.count);
        } else {
            leaf.advance_bytes(step.block * step.count);
        }
    }
}

impl Step {
    /// Copies the blocks and moves both leaves behind them; returns how many bytes that were.
    ///
    /// # Safety
    /// The step was made for these leaves; its blocks lie in memory that may be read (from
    /// `from_base` on) and written (from `base` on), and do not overlap.
    pub unsafe fn copy(&self, to: &mut Leaf, base: *mut u8, from: &mut Leaf, from_base: *const u8) -> u64 {
        let shape = Shape { block: self.block, count: self.count, rows: 1 };
        let target = base.wrapping_offset(self.to.at as isize);
        let source = from_base.wrapping_offset(self.from.at as isize);
        // SAFETY: the caller's promise.
        unsafe { copy_grid(shape, target, Steps::of(self.to.stride), source, Steps::of(self.from.stride)) };
        self.to.advance(to, self);
        self.from.advance(from, self);
        self.block * self.count
    }

    /// The next step of at most `limit` bytes; None if it is too small to be worth it.
    #[inline]
    pub fn between(to: &Leaf, from: &Leaf, limit: u64) -> Option<Step> {
        let (to_at, to_len, to_blocks) = to.front();
        let (from_at, from_len, from_blocks) = from.front();
        let block = to_len.min(from_len).min(limit);
        // Whole blocks against whole blocks, or against one longer run, else bytes.
        let to_whole = block == to_len && to_blocks > 0;
        let from_whole = block == from_len && from_blocks > 0;
        let count = match (to_whole, from_whole) {
            _ if block == limit => 1,
            (true, true) => to_blocks.min(from_blocks).min(limit / block),
            (true, false) if block < from_len => to_blocks.min(from_len.min(limit) / block),
            (false, true) if block < to_len => from_blocks.min(to_len.min(limit) / block),
            _ => 1,
        };
        if count < MANY && block * count < LARGE && block * count < limit {
            return None;
        }
        let side = |leaf: &Leaf, at, whole| {
            let stride = if whole { leaf.stride() } else { block as i64 };
            Side { at, stride, whole }
        };
        Some(Step { block, count, to: side(to, to_at, to_whole), from: side(from, from_at, from_whole) })
    }
}

impl Type {
    /// Packs bytes of the packed stream of `count` elements at `base`, from byte `from` on,
    /// into `out`; returns how many.
    ///
    /// # Safety
    /// Every byte of data in that part of the stream is readable at its offset from `base`,
    /// and none lies in `out`.
    pub unsafe fn pack(&self, base: *const u8, count: Count, from: u64, out: &mut [u8]) -> usize {
        if let Some((at, len)) = self.dense_run(count) {
            let bytes = len.saturating_sub(from).min(out.len() as u64) as usize;
            let data = base.wrapping_offset(at as isize).wrapping_add(from as usize);
            // SAFETY: `bytes` is at most the length of `out` and of the run from `from` on.
            unsafe { tern_copy::plain(out.as_mut_ptr(), data, bytes) };
            return bytes;
        }
        if let Some(piece) = self.whole(count)
            && from == 0
            && piece.size() <= out.len() as u64
        {
            // SAFETY: all the data fits `out`, and is only read.
            unsafe { transfer::<true>(&Chunk::Piece(piece), base.cast_mut(), out.as_mut_ptr()) };
            return piece.size() as usize;
        }
        // SAFETY: the same contract.
        unsafe { Cursor::at(self, count, from).pack(base, out) }
    }

    /// Unpacks `input` as the bytes from `from` on of the packed stream of `count` elements at
    /// `base`; returns how many bytes of `input` were used.
    ///
    /// # Safety
    /// Every byte of data in that part of the stream is writable at its offset from `base`,
    /// and none lies in `input`.
    pub unsafe fn unpack(&self, base: *mut u8, count: Count, from: u64, input: &[u8]) -> usize {
        if let Some((at, len)) = self.dense_run(count) {
            let bytes = len.saturating_sub(from).min(input.len() as u64) as usize;
            let data = base.wrapping_offset(at as isize).wrapping_add(from as usize);
            // SAFETY: `bytes` is at most the length of `input` and of the run from `from` on.
            unsafe { tern_copy::plain(data, input.as_ptr(), bytes) };
            return bytes;
        }
        if let Some(piece) = self.whole(count)
            && from == 0
            && piece.size() <= input.len() as u64
        {
            let input = input.as_ptr().cast_mut();
            // SAFETY: `input`, which is only read, has bytes for all the data.
            unsafe { transfer::<false>(&Chunk::Piece(piece), base, input) };
            return piece.size() as usize;
        }
        // SAFETY: the same contract.
        unsafe { Cursor::at(self, count, from).unpack(base, input) }
    }

    /// Copies `from_count` elements of `from_type` at `from` to `to_count` elements of
    /// `to_type` at `to`, as a message from one to the other would; returns the bytes moved,
    /// the lesser of the two sizes.
    ///
    /// # Safety
    /// All data of the source is readable, all of the target writable, as far as the lesser
    /// size goes, and the two do not overlap.
    pub unsafe fn copy(
        from_type: &Type, from: *const u8, from_count: Count, to_type: &Type, to: *mut u8, to_count: Count,
    ) -> u64 {
        if let (Some((from_at, from_len)), Some((to_at, to_len))) =
            (from_type.dense_run(from_count), to_type.dense_run(to_count))
        {
            let bytes = from_len.min(to_len);
            let from = from.wrapping_offset(from_at as isize);
            let to = to.wrapping_offset(to_at as isize);
            // SAFETY: `bytes` is within both runs.
            unsafe { tern_copy::plain(to, from, bytes as usize) };
            return bytes;
        }
        let mut source = Cursor::new(from_type, from_count);
        // SAFETY: the same contract.
        unsafe { Cursor::new(to_type, to_count).copy_from(to, &mut source, from, u64::MAX) }
    }

    /// All data of `count` elements as one piece, if it has a regular shape.
    #[inline]
    pub(crate) fn whole(&self, count: Count) -> Option<Piece> {
        match (&self.program().node, u64::try_from(count)) {
            (Node::Grid(grid), Ok(count @ 1..)) => grid.repeated(count, self.extent()).map(|grid| grid.piece()),
            _ => None,
        }
    }

    /// The contiguous runs of `len` bytes from byte `from` on of the packed stream of `count`
    /// elements: byte offset from the buffer address plus `base_offset`, and length, merged
    /// where they follow each other in memory.
    pub fn segments(&self, base_offset: i64, count: Count, from: u64, len: u64) -> Segments {
        Segments::new(self, base_offset, count, from, len)
    }
}
