//! The sender of a message for a published receive: how the bytes get there.

use super::chunks::{CHUNK, Share, by_kernel, chunk, copy_part, count_mapped};
use crate::posted_receives::{PostedReceives, Word};
use crate::segment::Occupation;
use crate::state::Shm;
use crate::transfers::Pending;
use tern_copy::Target;
use tern_counters as counters;
use tern_device::{Key, Memory, Outgoing};
use tern_policy::rules;
use tern_tune::{By, Placement, Situation, Transfer};

/// For so many bytes of a message a sender looks once more for a receive that is about to be published,
/// and so often at most.
const LOOK: u64 = 256;
const MOST_LOOKS: u64 = 256;
/// Looks of a sender at a message that it has left to the receiver, before it copies the message itself.
const LOOKS: u32 = 200;
/// Looks at a process that has not begun to wait yet.
const NEARLY: u32 = 25;

/// Looks at a process that may be about to say that it is ready to receive, which take about as long as a copy of 16 KiB.
const SOON: u32 = 50;

/// Whether that holds at one of so many looks.
fn comes_true(looks: u32, holds: impl Fn() -> bool) -> bool {
    (0..looks).any(|look| {
        if look > 0 {
            std::hint::spin_loop();
        }
        holds()
    })
}

/// How a message reaches a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Stream,
    Packets,
    /// By both sides, chunk by chunk.
    Both,
    /// By the sender alone, through its view of the receiver's memory.
    Mapped,
    /// By the sender alone, by the kernel.
    Kernel,
    /// By both sides, chunk by chunk, by the kernel.
    KernelBoth,
}

/// What became of a claimed receive. In one register: what is returned in memory is read back by wider loads than it was stored by, which wait
/// until the stores before them, to lines that the receiver holds, are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    Whole,
    /// Both sides go on with it.
    Partly,
    /// The mechanism has failed, which it no longer is chosen after, or packets are better.
    Not,
}

impl Shm {
    /// The published receive for a message of `len` bytes. Two processes that answer each other come
    /// to their next calls at the same time: where the last message has found its receive, this one
    /// waits for it a little, less than the copy will take.
    #[inline]
    pub(super) fn find(
        &self, peer: u32, posted: &PostedReceives, key: &Key, last: u32, len: u64,
    ) -> Option<(u32, Word)> {
        let mut found = posted.find(key, last);
        let hit = &self.direct.hits[peer as usize];
        if found.is_none() && hit.get() && !self.is_crowded() && rules::EXPECT_READY.applies() {
            for _ in 0..(len / LOOK).min(MOST_LOOKS) {
                std::hint::spin_loop();
                found = posted.find(key, last);
                if found.is_some() {
                    break;
                }
            }
        }
        hit.set(found.is_some());
        found
    }

    /// Whether `peer` has nothing to do but wait for a message of `size` bytes. One that has waited
    /// before may be about to. One that copies a message of its own takes a short one in passing.
    pub(super) fn has_time(&self, peer: u32, size: u64) -> bool {
        let process = self.segment.process(peer);
        let several = self.direct.waits[peer as usize].get() && rules::EXPECT_READY.applies();
        let looks = if several { NEARLY } else { 1 };
        comes_true(looks, || match process.occupation() {
            Occupation::Waits => true,
            Occupation::Copies => size <= self.eager() as u64,
            Occupation::Computes => false,
        })
    }

    /// [`tern_device::TupleQueue::is_ready_to_receive`]. A peer that answers is about to begin to wait.
    pub(super) fn becomes_ready_to_receive(&self, peer: u32, key: &Key, sent: u32) -> bool {
        let (posted, ready) = (self.segment.posted(peer, self.me), &self.direct.ready[peer as usize]);
        let several = ready.get().is_worth_waiting() && rules::EXPECT_READY.applies();
        let looks = if several { SOON } else { 1 };
        let seen = comes_true(looks, || posted.is_ready(key, sent));
        ready.set(ready.get().after(seen));
        seen
    }

    /// After a copy: notes whether `peer` waits now.
    pub(super) fn learn(&self, peer: u32) {
        let occupation = self.segment.process(peer).occupation();
        self.direct.waits[peer as usize].set(occupation != Occupation::Computes);
    }

    /// Where `peer`, a process of this job, is.
    pub(super) fn placement(&self, peer: u32) -> Placement {
        let introduction = || self.segment.process(peer).introduction();
        self.direct.places.of(peer as usize, || introduction().map(|introduced| introduced.pid as i32))
    }

    /// What is known of a message when it is decided how it goes.
    pub(super) fn situation(&self, peer: u32, stage: tern_tune::Stage, source: &Memory, target: &Memory) -> Situation {
        let size = source.len.min(target.len);
        let (known, process) = (!source.is_opaque() && !target.is_opaque(), self.segment.process(peer));
        let published = stage == tern_tune::Stage::Published;
        let (own, theirs) = if published { (source, target) } else { (target, source) };
        let kernel = known && self.direct.access.kernel_copies(peer, process, own, theirs);
        let dense = source.is_dense() && target.is_dense();
        // Who reads what is shared into private memory does it alone, and so does who has one chunk of it to read.
        let alone = !published && source.place != 0 && (target.place == 0 || size <= *CHUNK.start());
        Situation {
            size,
            stage,
            other_waits: !alone && self.has_time(peer, size),
            source_shared: known && source.place != 0,
            target_shared: known && target.place != 0,
            push: published && kernel,
            pull: !published && kernel,
            eager: size <= self.eager() as u64,
            block: if dense { 0 } else { source.block.min(target.block) },
            placement: self.placement(peer),
            warmth: self.direct.recency.borrow_mut().note(own.address, size),
            crowded: self.is_crowded(),
        }
    }

    /// The lengths at which the ways between processes of this placement cost as much ([`tern_device::PairFacts::pair`]).
    #[cold]
    pub(super) fn find_lengths(&self, placement: Placement) -> ([usize; 2], usize) {
        let (chooser, most) = (&self.direct.chooser, self.eager().max(tern_policy::pair::ahead(self.direct.window)));
        let length = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let published = [false, true].map(|shared| chooser.packets_below(placement, shared, !shared, most as u64));
        (published.map(length), length(chooser.kernel_fetches_from(placement)))
    }

    /// How a message should go to a published receive.
    pub(super) fn way(&self, peer: u32, message: &Outgoing<'_>, target: &Memory) -> Way {
        let situation = self.situation(peer, tern_tune::Stage::Published, message.source, target);
        let long = situation.size > self.eager() as u64;
        let both = situation.allows(Transfer::Mapped { by: By::Both }) && !situation.crowded;
        if let Some(once) = message.once
            && situation.source_shared
            && situation.target_shared
        {
            return match once {
                false => Way::Packets,
                true if both => Way::Both,
                true => Way::Mapped,
            };
        }
        let private = !situation.source_shared && !situation.target_shared;
        if (long || private) && !message.waits && !both && situation.other_waits {
            // The receiver has time to fetch it, or to take packets if the sender soon waits too.
            return Way::Stream;
        }
        match self.direct.chooser.pick(&situation) {
            Transfer::Eager => Way::Stream,
            Transfer::Pipe => Way::Packets,
            Transfer::Mapped { .. } if both => Way::Both,
            Transfer::Mapped { by: By::Both | By::Sender } => Way::Mapped,
            Transfer::Cma { by: By::Both } if message.waits => Way::KernelBoth,
            Transfer::Cma { by: By::Sender | By::Both } => Way::Kernel,
            // It asks to send, and the receiver fetches.
            Transfer::Mapped { by: By::Receiver } | Transfer::Cma { by: By::Receiver } => Way::Stream,
        }
    }

    /// Fills a claimed receive, or begins to.
    pub(super) fn fill(&self, way: Way, peer: u32, slot: u32, mut word: Word, message: &Outgoing<'_>) -> Filled {
        let Outgoing { source, sender, waits, .. } = *message;
        let posted = self.segment.posted(peer, self.me);
        let target = posted.target(slot);
        let len = source.len.min(target.len);
        let own = source.address as *const u8;
        let share = match way {
            Way::Both => {
                if !self.direct.access.can_view(&target) {
                    return Filled::Not;
                }
                counters::SHARED.add(1);
                counters::SHARED_BYTES.add(len);
                let lies = self.gauge(source, &target);
                // One chunk is copied faster by who reads from the other's cache than by who
                // writes to what the other has. A sender that could compute leaves all of it.
                let mine = waits && len > chunk(len, false);
                word = posted.share(slot, word, source, source.len, lies, mine);
                if mine { self.copy_out(peer, posted, slot, word, mine) } else { Share::Some }
            }
            Way::Mapped => {
                let Some(to) = self.direct.access.view(&target) else { return Filled::Not };
                let lies = self.gauge(source, &target);
                // SAFETY: the receiver has declared its memory, and cannot take it back any
                // more; the sender's is the program's, valid while it sends.
                unsafe { copy_part(&target, to, source, own, 0, len, lies) };
                count_mapped(len);
                posted.fill(slot, word, source.len);
                Share::Last
            }
            Way::Kernel => {
                if !self.direct.access.write(peer, source, &target) {
                    return Filled::Not;
                }
                posted.fill(slot, word, source.len);
                Share::Last
            }
            Way::KernelBoth => {
                counters::KERNEL.add(1);
                counters::KERNEL_BYTES.add(len);
                let source = by_kernel(&self.direct.access.named(source));
                word = posted.share(slot, word, &source, source.len, Target::Soon, true);
                self.copy_out(peer, posted, slot, word, true)
            }
            Way::Stream | Way::Packets => return Filled::Not,
        };
        let done = share == Share::Last;
        if !done {
            let failed = share == Share::Failed;
            let still = Pending { peer, slot, word, sender, len: source.len, looks: LOOKS, failed };
            self.direct.pending.borrow_mut().push(still);
        }
        self.segment.doorbell(peer).ring();
        if done { Filled::Whole } else { Filled::Partly }
    }
}
