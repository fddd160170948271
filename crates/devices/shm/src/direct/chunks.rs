//! Bytes of a message that this process copies through a view of the other's memory.

use crate::posted_receives::{CHUNKS, PostedReceives, Word};
use crate::segment::Introduction;
use crate::single_copy::RegionAccess;
use crate::state::Shm;
use tern_copy::{Source, Target};
use tern_counters as counters;
use tern_device::Memory;
use tern_node::clock;
use tern_policy::{stores::LONG_IN_ONE_COPY, transfer};

/// The first bytes of a message that the receiver has asked the kernel to copy from both sides: it has them before the sender
/// knows, and so has seen that it can, while the message can still go another way.
pub const PROOF: u64 = 4 << 10;
const _: () = assert!(transfer::CMA_BOTH_FROM >= 4 * PROOF);

/// Bytes of a chunk of so many bytes that both sides share: more than the bounds say only where there were too many chunks.
pub fn chunk(len: u64, by_kernel: bool) -> u64 {
    transfer::chunk(len, by_kernel).max(len.div_ceil(CHUNKS as u64).next_multiple_of(64))
}

/// A sender's memory as it stands in the slot of a transfer that goes by the kernel, wherever it lies.
pub fn by_kernel(source: &Memory) -> Memory {
    Memory { place: 0, ..*source }
}

/// This process has copied a message through its view of another's memory.
pub fn count_mapped(len: u64) {
    counters::MAPPED.add(1);
    counters::MAPPED_BYTES.add(len);
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

/// How one side of a shared transfer gets at the other's memory.
#[derive(Clone, Copy)]
pub enum PeerMemory {
    /// Where the first byte of it lies in this process.
    View(*mut u8),
    Kernel,
}

impl Shm {
    /// What the target of a message is taken for, which is now copied through views.
    pub(super) fn gauge(&self, source: &Memory, target: &Memory) -> Target {
        let len = source.len.min(target.len);
        let long = len >= LONG_IN_ONE_COPY as u64 && source.is_dense() && target.is_dense();
        let streams = || self.direct.gauge.borrow_mut().streams(len as usize, clock::nanoseconds);
        Target::streamed(long && streams())
    }

    /// How this process can get at `theirs`, memory of `peer`, in the transfer that was seen at `word`, if it can.
    fn way_to(&self, peer: u32, word: Word, theirs: &Memory) -> Option<PeerMemory> {
        match word.is_by_kernel() {
            true => {
                self.direct.access.kernel_copies_now(peer, self.segment.process(peer)).then_some(PeerMemory::Kernel)
            }
            false => self.direct.access.view(theirs).map(PeerMemory::View),
        }
    }

    /// The sender's share of a copy by both sides. `begun`: the first chunk is its own.
    pub(super) fn copy_out(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word, begun: bool) -> Share {
        let Some(way) = self.way_to(peer, word, &posted.target(slot)) else {
            if begun {
                posted.slot(slot).give_back(false);
            }
            return Share::Some;
        };
        let first = begun.then_some(0);
        self.copy_chunks(posted, slot, word, false, first, |source, target, skip, len| match way {
            PeerMemory::View(to) => {
                // SAFETY: see `copy_chunks`; `to` is where the receiver's memory lies here.
                unsafe { copy_part(target, to, source, source.address as *const u8, skip, len, word.target()) };
                true
            }
            PeerMemory::Kernel => self.direct.access.write_part(peer, source, target, skip, len),
        })
    }

    /// The receiver's share; true when it has copied the last chunk.
    pub(super) fn copy_in(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word) -> bool {
        let Some(way) = self.way_to(peer, word, &posted.source(slot, word)) else {
            if word.is_by_kernel() {
                posted.slot(slot).refuse();
            }
            return false;
        };
        let share = self.copy_chunks(posted, slot, word, true, None, |source, target, skip, len| match way {
            PeerMemory::View(from) => {
                // SAFETY: see `copy_chunks`; `from` is where the sender's memory lies here.
                unsafe { copy_part(target, target.address as *mut u8, source, from, skip, len, word.target()) };
                true
            }
            PeerMemory::Kernel => self.direct.access.read_part(peer, source, target, skip, len),
        });
        if share == Share::Failed {
            posted.slot(slot).refuse();
        }
        share == Share::Last
    }

    /// The receiver's share, by a thread that may not be the one inside the library.
    pub(super) fn help_anywhere(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word) {
        let share = match word.is_by_kernel() {
            true => {
                let Some(Introduction { pid, .. }) = self.segment.process(peer).introduction() else { return };
                let share = self.copy_chunks(posted, slot, word, true, None, |source, target, skip, len| {
                    RegionAccess::read_from(pid, source, target, skip, len)
                });
                if share == Share::Failed {
                    posted.slot(slot).refuse();
                }
                share
            }
            false => {
                let source = posted.source(slot, word);
                let (low, len) = source.span();
                let Some(from) = self.direct.access.map(&source) else { return };
                let share = self.copy_chunks(posted, slot, word, true, None, |source, target, skip, len| {
                    // SAFETY: see `copy_chunks`; `from` is where the sender's memory lies here.
                    unsafe { copy_part(target, target.address as *mut u8, source, from, skip, len, word.target()) };
                    true
                });
                // SAFETY: mapped above, for this alone.
                unsafe { tern_device::unmap(from.wrapping_offset(low as isize), len as usize) };
                share
            }
        };
        if share == Share::Last {
            // The sender may sleep until it is done.
            self.segment.doorbell(peer).ring();
        }
    }

    /// Copies chunks of the transfer that was seen at `word` until all are claimed, each by `copy`, which is given the
    /// chunk's first byte and its length and says whether it could. `first` is claimed already. Both sides have declared their memory for
    /// this transfer, which is not over before all chunks are copied.
    fn copy_chunks(
        &self, posted: &PostedReceives, slot: u32, word: Word, back: bool, mut first: Option<u32>,
        copy: impl Fn(&Memory, &Memory, u64, u64) -> bool,
    ) -> Share {
        let (source, target) = (posted.source(slot, word), posted.target(slot));
        let by_kernel = word.is_by_kernel();
        let begun = if by_kernel && word.is_joint() { PROOF } else { 0 };
        let len = source.len.min(target.len) - begun;
        let chunk_len = chunk(len, by_kernel);
        let chunks = len.div_ceil(chunk_len) as u32;
        let shared = posted.slot(slot);
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
