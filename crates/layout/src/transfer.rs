//! Moving data: pack, unpack, and copies from one layout to another.

use std::ptr;

use crate::cursor::{Cursor, Segments};
use crate::kernel::{gather, scatter, strided};
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
        while let Some(piece) = self.take((out.len() - done) as u64) {
            // SAFETY: the piece is at most what is left of `out`; the caller vouches for the
            // data.
            unsafe { gather(&piece, base, out.as_mut_ptr().add(done)) };
            done += piece.size() as usize;
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
        while let Some(piece) = self.take((input.len() - done) as u64) {
            // SAFETY: the piece is at most what is left of `input`; the caller vouches for
            // the data.
            unsafe { scatter(&piece, base, input.as_ptr().add(done)) };
            done += piece.size() as usize;
        }
        done
    }

    /// Copies at most `limit` bytes from the stream of `from` to this one, without a buffer
    /// between; returns how many: less than `limit` only when one of the streams ends.
    ///
    /// # Safety
    /// The next `limit` bytes of both streams lie in memory that may be read (`from_base`)
    /// and written (`base`), and the two do not overlap.
    pub unsafe fn copy_from(
        &mut self,
        base: *mut u8,
        from: &mut Cursor,
        from_base: *const u8,
        limit: u64,
    ) -> u64 {
        let mut left = limit;
        while left > 0 {
            let (Some(target), Some(source)) = (self.leaf(), from.leaf()) else {
                break;
            };
            let (to_at, to_len, to_blocks) = target.front();
            let (from_at, from_len, from_blocks) = source.front();
            let to = base.wrapping_offset(to_at as isize);
            let of = from_base.wrapping_offset(from_at as isize);
            // Whole blocks against whole blocks, or against one longer run, else bytes.
            let bytes = if to_blocks > 0 && from_blocks > 0 && to_len == from_len && to_len <= left
            {
                let count = to_blocks.min(from_blocks).min(left / to_len);
                // SAFETY: these blocks are within both streams.
                unsafe {
                    strided(
                        to,
                        target.stride() as isize,
                        of,
                        source.stride() as isize,
                        to_len,
                        count,
                    )
                };
                target.advance_blocks(count);
                source.advance_blocks(count);
                count * to_len
            } else if to_blocks > 0 && to_len < from_len && to_len <= left {
                let count = to_blocks.min(from_len.min(left) / to_len);
                // SAFETY: these blocks are within the target stream, and in one source run.
                unsafe {
                    strided(
                        to,
                        target.stride() as isize,
                        of,
                        to_len as isize,
                        to_len,
                        count,
                    )
                };
                target.advance_blocks(count);
                source.advance_bytes(count * to_len);
                count * to_len
            } else if from_blocks > 0 && from_len < to_len && from_len <= left {
                let count = from_blocks.min(to_len.min(left) / from_len);
                // SAFETY: these blocks are within the source stream, and in one target run.
                unsafe {
                    strided(
                        to,
                        from_len as isize,
                        of,
                        source.stride() as isize,
                        from_len,
                        count,
                    )
                };
                target.advance_bytes(count * from_len);
                source.advance_blocks(count);
                count * from_len
            } else {
                let bytes = to_len.min(from_len).min(left);
                // SAFETY: one run that lies in both streams.
                unsafe { ptr::copy_nonoverlapping(of, to, bytes as usize) };
                target.advance_bytes(bytes);
                source.advance_bytes(bytes);
                bytes
            };
            self.used(bytes);
            from.used(bytes);
            left -= bytes;
        }
        limit - left
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
            let data = base
                .wrapping_offset(at as isize)
                .wrapping_add(from as usize);
            // SAFETY: `bytes` is at most the length of `out` and of the run from `from` on.
            unsafe { ptr::copy_nonoverlapping(data, out.as_mut_ptr(), bytes) };
            return bytes;
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
            let data = base
                .wrapping_offset(at as isize)
                .wrapping_add(from as usize);
            // SAFETY: `bytes` is at most the length of `input` and of the run from `from` on.
            unsafe { ptr::copy_nonoverlapping(input.as_ptr(), data, bytes) };
            return bytes;
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
        from_type: &Type,
        from: *const u8,
        from_count: Count,
        to_type: &Type,
        to: *mut u8,
        to_count: Count,
    ) -> u64 {
        if let (Some((from_at, from_len)), Some((to_at, to_len))) =
            (from_type.dense_run(from_count), to_type.dense_run(to_count))
        {
            let bytes = from_len.min(to_len);
            let from = from.wrapping_offset(from_at as isize);
            let to = to.wrapping_offset(to_at as isize);
            // SAFETY: `bytes` is within both runs.
            unsafe { ptr::copy_nonoverlapping(from, to, bytes as usize) };
            return bytes;
        }
        let mut source = Cursor::new(from_type, from_count);
        // SAFETY: the same contract.
        unsafe { Cursor::new(to_type, to_count).copy_from(to, &mut source, from, u64::MAX) }
    }

    /// The contiguous runs of `len` bytes from byte `from` on of the packed stream of `count`
    /// elements: byte offset from the buffer address plus `base_offset`, and length, merged
    /// where they follow each other in memory.
    pub fn segments(&self, base_offset: i64, count: Count, from: u64, len: u64) -> Segments {
        Segments::new(self, base_offset, count, from, len)
    }
}
