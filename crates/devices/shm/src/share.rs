//! One side's share of a copy that both sides make, chunk by chunk: by whichever thread of that side.

use crate::posted_receives::{CHUNKS, PostedReceives, Word};
use crate::single_copy::RegionAccess;
use tern_copy::{Source, Target};
use tern_device::Memory;
use tern_policy::transfer;

/// The first bytes of a message that the receiver has asked the kernel to copy from both sides: it has them before the sender
/// knows, and so has seen that it can, while the message can still go another way.
pub const PROOF: u64 = 4 << 10;
const _: () = assert!(transfer::CMA_BOTH_FROM >= 4 * PROOF);

/// Bytes of a chunk of so many bytes that both sides share: more than the bounds say only where there were too many chunks.
pub fn chunk(len: u64, by_kernel: bool) -> u64 {
    transfer::chunk(len, by_kernel).max(len.div_ceil(CHUNKS as u64).next_multiple_of(64))
}

/// What one side of a shared transfer has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// It has copied the last chunk.
    Last,
    /// The other side has some.
    Some,
    /// It has given back a chunk that it could not copy.
    Failed,
}

/// How any thread of a side gets at the other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Where the first byte of it lies in this process.
    View(*mut u8),
    /// By the kernel, as memory of that process.
    Process(u32),
}

/// A side of a copy by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It copies from the front.
    Sender,
    /// It copies from the back.
    Receiver,
}

/// Does that side's share of the copy that was seen at `word`, by any thread of it.
pub fn copy_share(posted: &PostedReceives, slot: u32, word: Word, side: Side, reach: Reach) -> Share {
    match reach {
        Reach::View(theirs) => copy_through_view(posted, slot, word, (side, None), theirs),
        Reach::Process(pid) => {
            let share = copy_chunks(posted, slot, word, (side, None), |source, target, skip, len| match side {
                Side::Sender => RegionAccess::write_to(pid, source, target, skip, len),
                Side::Receiver => RegionAccess::read_from(pid, source, target, skip, len),
            });
            if share == Share::Failed && side == Side::Receiver {
                posted.slot(slot).refuse();
            }
            share
        }
    }
}

/// [`copy_chunks`] through a view of the other's memory, whose first byte lies at `theirs` in this process.
pub fn copy_through_view(
    posted: &PostedReceives, slot: u32, word: Word, begin: (Side, Option<u32>), theirs: *mut u8,
) -> Share {
    copy_chunks(posted, slot, word, begin, |source, target, skip, len| {
        let (to, from) = match begin.0 {
            Side::Sender => (theirs, source.address as *const u8),
            Side::Receiver => (target.address as *mut u8, theirs.cast_const()),
        };
        // SAFETY: see `copy_chunks`; `theirs` is where the other's memory lies here.
        unsafe { copy_part(target, to, source, from, skip, len, word.target()) };
        true
    })
}

/// Copies chunks of the transfer that was seen at `word` until all are claimed, each by `copy`, which is given the
/// chunk's first byte and its length and says whether it could. `first` is claimed already. Both sides have declared their memory for
/// this transfer, which is not over before all chunks are copied.
pub fn copy_chunks(
    posted: &PostedReceives, slot: u32, word: Word, (side, mut first): (Side, Option<u32>),
    copy: impl Fn(&Memory, &Memory, u64, u64) -> bool,
) -> Share {
    let (source, target) = (posted.source(slot, word), posted.target(slot));
    let by_kernel = word.is_by_kernel();
    let begun = if by_kernel && word.is_joint() && !word.is_by_module() { PROOF } else { 0 };
    let len = source.len.min(target.len) - begun;
    let chunk_len = if word.is_by_module() { len } else { chunk(len, by_kernel) };
    let chunks = len.div_ceil(chunk_len) as u32;
    let (shared, back) = (posted.slot(slot), side == Side::Receiver);
    if back && shared.is_refused() {
        // The sender may be about to send packets.
        return Share::Some;
    }
    while let Some(chunk) = first.take().or_else(|| shared.claim(word, back, chunks)) {
        let skip = chunk as u64 * chunk_len;
        if !copy(&source, &target, begun + skip, chunk_len.min(len - skip)) {
            // The other side does the rest.
            shared.give_back(back);
            return Share::Failed;
        }
        if shared.copied(chunks) {
            posted.finish(slot);
            return Share::Last;
        }
    }
    Share::Some
}

/// Copies `len` bytes from byte `skip` of the data on. `lies`: what their target is taken for.
///
/// # Safety
/// `to` and `from` are where the first bytes of `target` and `source` lie in this process, all of
/// their data is mapped, and `skip + len` is in both.
pub unsafe fn copy_part(
    target: &Memory, to: *mut u8, source: &Memory, from: *const u8, skip: u64, len: u64, lies: Target,
) {
    if target.is_dense() && source.is_dense() {
        // SAFETY: the caller's contract.
        return unsafe {
            let (to, from) = (to.add(skip as usize), from.add(skip as usize));
            tern_copy::copy(to, from, len as usize, Source::Any, lies);
        };
    }
    let blocks = |memory: &Memory| tern_layout::Blocks { len: memory.len, block: memory.block, stride: memory.stride };
    // SAFETY: the caller's contract.
    unsafe { tern_layout::copy_blocks(&blocks(target), to, &blocks(source), from, skip, len) };
}
