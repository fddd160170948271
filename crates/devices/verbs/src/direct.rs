//! Published receives and single copies: memory is registered with the HCA, and moved by it.

use crate::device::Verbs;
use tern_device::{
    Delivery, Found, Key, Memory, Outgoing, Pair, PairFacts, Pull, PullTo, PushTo, Recall, RecallReason, SharedMemory,
    SingleCopy, TupleQueue, Use,
};

impl Verbs {
    /// Receives are published in queues of the card.
    fn uses_queues(&self) -> bool {
        self.channels.settings.queues > 0 && self.channels.fabric.ways.is_some()
    }
}

impl PairFacts for Verbs {
    fn pair(&self, _peer: u32) -> Pair {
        // Queues are for tuples that are used often, and each refusal counts as a use.
        Pair { copies_up_to: self.channels.settings.tuple_copy, has_room_later: !self.uses_queues(), ..Pair::default() }
    }
}

impl TupleQueue for Verbs {
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        let pays = self.channels.settings.tuples && memory.len >= self.channels.settings.direct as u64;
        match self.uses_queues() {
            _ if !pays => None,
            true => self.queues.publish(&self.channels, peer, key, memory, receiver, seen),
            false => self.tuples.publish(&self.channels, peer, key, memory, receiver, seen),
        }
    }

    fn recall(&self, peer: u32, slot: u32, reason: RecallReason) -> Recall {
        match (reason, self.uses_queues()) {
            (RecallReason::Cancel, true) => return self.queues.recall(&self.channels, peer, slot),
            (RecallReason::Cancel, false) => return self.tuples.recall(&self.channels, peer, slot),
            (RecallReason::Stream, true) => self.queues.retract(peer, slot),
            (RecallReason::Stream, false) if !self.tuples.retract(peer, slot) => return Recall::Claimed,
            (RecallReason::Stream, false) => {}
            (RecallReason::Packets, _) => self.tuples.forget(peer, slot),
        }
        Recall::Won
    }

    fn raise(&self, peer: u32, seen: u32) {
        if self.uses_queues() {
            self.queues.raise(peer, seen);
        } else {
            self.tuples.raise(peer, seen);
        }
    }

    fn find_published(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<Found> {
        match self.uses_queues() {
            true => self.queues.find(peer, key, last, len),
            false => self.tuples.find(peer, key, last),
        }
    }

    fn deliver(&self, peer: u32, found: &Found, message: &Outgoing<'_>) -> Delivery {
        // SAFETY: the sender's memory is the program's, which leaves it to the transfer.
        unsafe {
            match self.uses_queues() {
                true => self.queues.deliver(&self.channels, peer, found, message),
                false => self.tuples.deliver(&self.channels, &self.moves, peer, found, message),
            }
        }
    }
}

impl SingleCopy for Verbs {
    fn locate(&self, _peer: u32, memory: Memory, _used: Use) -> Memory {
        self.channels.registered.locate(memory)
    }

    fn release(&self, memory: &Memory) {
        self.channels.registered.release(memory);
    }

    fn pull(&self, peer: u32, source: &Memory, target: PullTo<'_>) -> Pull {
        let PullTo::Receive(target, receiver, _) = target else { return Pull::No };
        self.moves.fetch(&self.channels, peer, source, target, receiver)
    }

    fn push(&self, peer: u32, source: &Memory, target: PushTo<'_>, sender: u32) -> Pull {
        let PushTo::Memory(target) = target else { return Pull::No };
        self.moves.put(&self.channels, peer, source, target, sender)
    }
}

impl SharedMemory for Verbs {}
