//! Copies by both sides that a receiver has begun: its sender had asked to send, and waits in the library.

use super::chunks::by_kernel;
use crate::posted_receives::{Published, SLOTS, Stage};
use crate::share::PROOF;
use crate::state::Shm;
use crate::transfers::Pending;
use tern_copy::Target;
use tern_counters as counters;
use tern_device::{Key, Memory, Pull};
use tern_policy::offload::By;

/// A slot and the order of its receive, as a number for the sender.
fn number(slot: u32, order: u32) -> u64 {
    slot as u64 | (order as u64) << 32
}

/// The slot in such a number.
pub fn slot_of(number: u64) -> u32 {
    number as u32
}

impl Shm {
    /// Begins to copy from `source` together with `peer`; what it is to be told. `None`: this side has to
    /// do it alone. `by`: who copies; by number both have the kernel copy. [`tern_device::Sink::pulled`] tells the end.
    pub(super) fn begin(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32, by: By) -> Option<u64> {
        let len = source.len.min(target.len);
        let (kernel, module) = (by != By::View, by == By::Module);
        // The module says whether it can when it is asked to begin.
        if kernel && !module && !self.direct.access.read_part(peer, source, target, 0, PROOF) {
            return None;
        }
        let source = if kernel { by_kernel(source) } else { *source };
        let forks = self.direct.access.keep_forks_out();
        let target = if forks.is_some() { self.direct.access.look_again(target) } else { *target };
        let target = if kernel { self.named(peer, &target) } else { target };
        if !kernel && target.place == 0 {
            // Another thread has forked, and the sender sees that memory no more.
            return None;
        }
        let order = self.direct.order.get();
        let receive = Published { key: Key { context: 0, source: 0, tag: 0 }, receiver, target };
        let lies = if kernel { Target::Soon } else { self.gauge(&source, &target) };
        let slot = self.own_posted(peer).begin(&receive, &source, order, lies, module)?;
        self.note_publication(peer, slot, &target);
        let (messages, bytes) = match kernel {
            true => (&counters::KERNEL, &counters::KERNEL_BYTES),
            false => (&counters::SHARED, &counters::SHARED_BYTES),
        };
        messages.add(1);
        bytes.add(len);
        Some(number(slot, order))
    }

    /// Copies from `source` what the receiver has not begun to copy yet of the transfer that it calls `number`.
    pub(super) fn take_part(&self, peer: u32, source: &Memory, number: u64, sender: u32) -> Pull {
        let (slot, order) = (slot_of(number), (number >> 32) as u32);
        if slot as usize >= SLOTS {
            return Pull::No;
        }
        let posted = self.segment.posted(peer, self.me);
        let word = posted.word(slot);
        if word.stage() != Stage::Shared || word.order() != order {
            return Pull::Done;
        }
        let mut message = Pending { peer, slot, word, sender, len: source.len, looks: 0, failed: false };
        if self.is_finished(&mut message) {
            return Pull::Done;
        }
        self.direct.pending.borrow_mut().push(message);
        Pull::Pending
    }
}
