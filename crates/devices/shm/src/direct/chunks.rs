//! Bytes of a message that this process copies through a view of the other's memory.

use crate::posted_receives::{ByModule, PostedReceives, Word};
use crate::segment::Introduction;
use crate::share::{Reach, Share, Side, copy_chunks, copy_share, copy_through_view};
use crate::state::Shm;
use tern_copy::Target;
use tern_counters as counters;
use tern_device::Memory;
use tern_node::clock;
use tern_policy::stores::LONG_IN_ONE_COPY;

/// A sender's memory as it stands in the slot of a transfer that goes by the kernel, wherever it lies.
pub fn by_kernel(source: &Memory) -> Memory {
    Memory { place: 0, ..*source }
}

/// This process has copied a message through its view of another's memory.
pub fn count_mapped(len: u64) {
    counters::MAPPED.add(1);
    counters::MAPPED_BYTES.add(len);
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
        let (side, first) = (Side::Sender, begun.then_some(0));
        match way {
            PeerMemory::View(to) => copy_through_view(posted, slot, word, (side, first), to),
            PeerMemory::Kernel => copy_chunks(posted, slot, word, (side, first), |source, target, skip, len| {
                self.direct.access.write_part(peer, source, target, skip, len)
            }),
        }
    }

    /// The receiver's share; true when it has copied the last chunk.
    pub(super) fn copy_in(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word) -> bool {
        let Some(way) = self.way_to(peer, word, &posted.source(slot, word)) else {
            if word.is_by_kernel() {
                posted.slot(slot).refuse();
            }
            return false;
        };
        let begin = (Side::Receiver, None);
        let share = match way {
            PeerMemory::View(from) => copy_through_view(posted, slot, word, begin, from),
            PeerMemory::Kernel => copy_chunks(posted, slot, word, begin, |source, target, skip, len| {
                self.direct.access.read_part(peer, source, target, skip, len)
            }),
        };
        if share == Share::Failed {
            posted.slot(slot).refuse();
        }
        share == Share::Last
    }

    /// The receiver's share, by a thread that may not be the one inside the library.
    pub(super) fn help_anywhere(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word) {
        if self.is_handed_over(posted, slot, word)
            || self.look_beside(posted, slot, word, Side::Receiver) != ByModule::Over
        {
            return;
        }
        let side = Side::Receiver;
        let share = match word.is_by_kernel() {
            true => {
                let Some(Introduction { pid, .. }) = self.segment.process(peer).introduction() else { return };
                copy_share(posted, slot, word, side, Reach::Process(pid))
            }
            false => {
                let source = posted.source(slot, word);
                let (low, len) = source.span();
                let Some(from) = self.direct.access.map(&source) else { return };
                let share = copy_share(posted, slot, word, side, Reach::View(from));
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
}
