//! Long messages: the receiver reads from the sender's memory (RGET), or the sender writes to the receiver's (RPUT). Nothing
//! is published.

use crate::Ofi;
use crate::accesses::{End, What};
use tern_device::{
    Delivery, Found, Key, Memory, Outgoing, Pair, PairFacts, Pull, PullTo, PushTo, Recall, RecallReason, SharedMemory,
    SingleCopy, TupleQueue, Use,
};

impl PairFacts for Ofi {
    fn pair(&self, _peer: u32) -> Pair {
        Pair { has_room_later: false, ..Pair::default() }
    }
}

impl TupleQueue for Ofi {
    fn publish(&self, _peer: u32, _key: &Key, _memory: &Memory, _receiver: u32, _seen: u32) -> Option<u32> {
        None
    }

    fn recall(&self, _peer: u32, _slot: u32, _reason: RecallReason) -> Recall {
        Recall::Won
    }

    fn raise(&self, _peer: u32, _seen: u32) {}

    fn find_published(&self, _peer: u32, _key: &Key, _last: u32, _len: u64) -> Option<Found> {
        None
    }

    fn deliver(&self, _peer: u32, _found: &Found, _message: &Outgoing<'_>) -> Delivery {
        Delivery::Stream
    }
}

impl SingleCopy for Ofi {
    fn locate(&self, _peer: u32, memory: Memory, _used: Use) -> Memory {
        let state = &mut *self.shared.call();
        state.registered.as_mut().map_or(memory, |registered| registered.locate(&state.fabric, memory))
    }

    fn release(&self, memory: &Memory) {
        if memory.key != 0 {
            self.shared.call().registered.iter_mut().for_each(|registered| registered.release(memory));
        }
    }

    fn pull(&self, peer: u32, source: &Memory, target: PullTo<'_>) -> Pull {
        let PullTo::Receive(target, receiver, _) = target else { return Pull::No };
        self.shared.call().move_message(peer, target, source, What::Read, End::Pulled(receiver))
    }

    fn push(&self, peer: u32, source: &Memory, target: PushTo<'_>, sender: u32) -> Pull {
        let PushTo::Memory(target) = target else { return Pull::No };
        self.shared.call().move_message(peer, source, target, What::Write, End::Sent(sender))
    }
}

impl SharedMemory for Ofi {}
