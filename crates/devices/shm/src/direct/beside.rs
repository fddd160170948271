//! Copies that the kernel module makes while the programs of both sides go on (asynchronous copies of the KNEM paper): all of a message is one chunk
//! of its slot, which the module has. The kernel tells the end in a word of the slot, so that either side finds it by a look at memory.

use crate::posted_receives::{ByModule, PostedReceives, Stage, Word};
use crate::share::Side;
use crate::state::Shm;
use crate::transfers::Pending;
use std::time::Duration;
use tern_counters as counters;
use tern_region::module::Beside;
use tern_settings::Offload;

/// The longest sleep of a process that has such a copy under way: the kernel rings no bell.
const NAP: Duration = Duration::from_micros(200);

/// Who has started the copy that was seen at `word`.
fn starter(word: Word) -> Side {
    if word.is_joint() { Side::Receiver } else { Side::Sender }
}

impl Shm {
    /// Has the module copy all of a slot that was shared with it. False: the chunk is given back, and `side` may copy it.
    pub(super) fn start_beside(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word, side: Side) -> bool {
        let (source, target) = (posted.source(slot, word), posted.target(slot));
        let len = source.len.min(target.len);
        let (own, theirs, writes) = match side {
            Side::Sender => (source, target, true),
            Side::Receiver => (target, source, false),
        };
        let engine = tern_settings::OFFLOAD.get() == Offload::Dma;
        let beside = if engine { Beside::Engine } else { Beside::Thread };
        let shared = posted.slot(slot);
        // SAFETY: both memories are of this transfer, which ends when the word is seen to tell so, or when `end_beside` has waited for that; the
        // segment outlives it (`finish_shares`).
        let started = unsafe { self.direct.access.start(&own, &theirs, len, writes, beside, shared.status()) };
        if !started {
            shared.take_from_module(ByModule::UnderWay);
            self.segment.doorbell(peer).ring();
            return false;
        }
        counters::OFFLOADED_MODULE.add(1);
        counters::OFFLOADED_MODULE_BYTES.add(len);
        counters::OFFLOADED_DMA_BYTES.add(if engine { len } else { 0 });
        counters::MODULE_BYTES.add(len);
        true
    }

    /// How a copy stands for `side` that may be the module's: `Over` where anybody may copy. Of a failed one the side that has started it gives the
    /// chunk back; the other one waits for that.
    pub(super) fn look_beside(&self, posted: &PostedReceives, slot: u32, word: Word, side: Side) -> ByModule {
        if !word.is_by_module() {
            return ByModule::Over;
        }
        let shared = posted.slot(slot);
        match shared.by_module() {
            ByModule::Done => {
                posted.finish_for_module(slot, word);
                ByModule::Done
            }
            ByModule::Failed if side != starter(word) => ByModule::UnderWay,
            ByModule::Failed => {
                if shared.take_from_module(ByModule::Failed) {
                    counters::OFFLOADED_FAILED.add(1);
                }
                ByModule::Over
            }
            stands => stands,
        }
    }

    /// Whether the module copies for this process, or for a peer of it, so that no bell rings at the end.
    fn awaits_beside(&self) -> bool {
        let sent = |message: &Pending| message.word.is_by_module();
        let received = |&(peer, _): &(u32, u32)| {
            let posted = self.own_posted(peer);
            posted.in_use().any(|slot| posted.word(slot).is_by_module())
        };
        self.direct.access.declares()
            && (self.direct.pending.borrow().iter().any(sent) || self.direct.published.borrow().iter().any(received))
    }

    /// How long a process may sleep that wants to sleep for so long.
    pub(crate) fn nap(&self, wanted: Duration) -> Duration {
        if self.awaits_beside() { wanted.min(NAP) } else { wanted }
    }

    /// Waits until the module has left what this process has started, with `peer` or with all: as long as the copies take. It stops by itself
    /// where a peer is gone.
    pub(super) fn await_beside(&self, peer: Option<u32>) {
        if !self.direct.access.declares() {
            return;
        }
        let with = |other: u32| peer.is_none_or(|peer| peer == other);
        let leave = |posted: &PostedReceives, slot: u32, word: Word| {
            while posted.is_shared(slot, word) && posted.slot(slot).by_module() == ByModule::UnderWay {
                tern_atomics::yield_now();
            }
        };
        for message in self.direct.pending.borrow().iter().filter(|message| with(message.peer)) {
            if message.word.is_by_module() && !message.word.is_joint() {
                leave(self.segment.posted(message.peer, self.me), message.slot, message.word);
            }
        }
        for &(other, _) in self.direct.published.borrow().iter().filter(|(other, _)| with(*other)) {
            let posted = self.own_posted(other);
            for slot in posted.in_use() {
                let word = posted.word(slot);
                if word.is_by_module() && word.is_joint() && word.stage() == Stage::Shared {
                    leave(posted, slot, word);
                }
            }
        }
    }

    /// The module copies nothing more between this process and `peer`, which is lost: what this process has started has ended, and what the peer
    /// has started touches no region of this one any more.
    pub(super) fn end_beside(&self, peer: u32) {
        self.await_beside(Some(peer));
        let posted = self.own_posted(peer);
        for slot in posted.in_use() {
            let word = posted.word(slot);
            if word.is_by_module() && !word.is_joint() {
                self.direct.access.take_back(&posted.target(slot));
            }
        }
    }
}
