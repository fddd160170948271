//! Bytes of a message that this process copies through a view of the other's memory.

use crate::board::{Board, CHUNKS, Word};
use crate::device::Shm;
use tern_counters as counters;
use tern_device::Memory;

/// Bytes that one side copies at a time when both are at work: half of a shorter message, since two
/// chunks are as many as two processes need, but not less than the lower bound.
pub const CHUNK: std::ops::RangeInclusive<u64> = 16 << 10..=32 << 10;

/// Bytes of a chunk of a message of so many bytes: more than the upper bound only where there were too many chunks.
pub fn chunk(len: u64) -> u64 {
    let half = len.div_ceil(2).next_multiple_of(64).clamp(*CHUNK.start(), *CHUNK.end());
    half.max(len.div_ceil(CHUNKS as u64).next_multiple_of(64))
}

/// This process has copied a message through its view of another's memory.
pub fn count_mapped(len: u64) {
    counters::MAPPED.add(1);
    counters::MAPPED_BYTES.add(len);
}

impl Shm {
    /// Copies chunks of the transfer that was seen at `word` until all are claimed; true when it has copied the last one.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn copy_chunks(
        &self,
        board: &Board,
        slot: u32,
        word: Word,
        back: bool,
        target: &Memory,
        to: *mut u8,
        source: &Memory,
        from: *const u8,
    ) -> bool {
        let len = source.len.min(target.len);
        let chunk_len = chunk(len);
        let chunks = len.div_ceil(chunk_len) as u32;
        let shared = board.slot(slot);
        let mut finished = false;
        while let Some(chunk) = shared.claim(word, back, chunks) {
            let skip = chunk as u64 * chunk_len;
            // SAFETY: both sides have declared their memory for this transfer, which is not over
            // before all chunks are copied; `to` and `from` are where it lies here.
            unsafe { copy_part(target, to, source, from, skip, chunk_len.min(len - skip)) };
            if shared.copied(chunks) {
                board.finish(slot);
                finished = true;
            }
        }
        finished
    }
}

/// Copies `len` bytes from byte `skip` of the data on.
///
/// # Safety
/// `to` and `from` are where the first bytes of `target` and `source` lie in this process, all of
/// their data is mapped, and `skip + len` is in both.
pub unsafe fn copy_part(target: &Memory, to: *mut u8, source: &Memory, from: *const u8, skip: u64, len: u64) {
    if target.is_dense() && source.is_dense() {
        // SAFETY: the caller's contract.
        return unsafe {
            std::ptr::copy_nonoverlapping(from.add(skip as usize), to.add(skip as usize), len as usize);
        };
    }
    let blocks = |memory: &Memory| tern_layout::Blocks { len: memory.len, block: memory.block, stride: memory.stride };
    // SAFETY: the caller's contract.
    unsafe { tern_layout::copy_blocks(&blocks(target), to, &blocks(source), from, skip, len) };
}
