//! Chaos in tuple queues, single copies and shared memory: what may be refused is, at times, and each step is an event.

use super::Chaos;
use std::rc::Rc;
use tern_device::{
    AfterFork, Chooser, Copying, Delivery, Direction, Ended, Event, Exposure, Found, Group, Key, Lease, Memory, Name,
    NotCopied, Outgoing, Pair, PairFacts, PeerState, Pull, PullTo, PushTo, Recall, RecallReason, Run, SharedMemory,
    SingleCopy, Situation, SpeculativeAddress, Then, Times, TupleQueue, Use,
};

impl PairFacts for Chaos {
    fn pair(&self, peer: u32) -> Pair {
        self.multi.pair(peer)
    }

    fn peer_is(&self, peer: u32, state: PeerState<'_>) -> bool {
        // Who waits may always have been seen too early.
        let unseen = state != PeerState::Alive && self.refuses();
        !unseen && self.multi.peer_is(peer, state)
    }

    fn mechanism(&self, peer: u32) -> &'static str {
        self.multi.mechanism(peer)
    }

    fn situation(&self, peer: u32, copying: Copying<'_>, then: Then) -> Option<Situation> {
        self.multi.situation(peer, copying, then)
    }

    fn chooser(&self) -> Option<Rc<Chooser>> {
        self.multi.chooser()
    }

    fn times(&self, members: &[u32], group: &Group) -> Option<Times> {
        self.multi.times(members, group)
    }
}

impl TupleQueue for Chaos {
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        // The slot of a filled receive is free for the device, and not yet for the layer above.
        if self.held.has_completion_of(peer) || self.refuses() {
            return None;
        }
        let slot = self.multi.publish(peer, key, memory, receiver, seen)?;
        self.held.publishes(receiver, peer, slot);
        self.event("has published a receive for", Some(peer));
        Some(slot)
    }

    fn recall(&self, peer: u32, slot: u32, reason: RecallReason) -> Recall {
        if self.held.has_filled(peer, slot) {
            return Recall::Claimed;
        }
        let recall = self.multi.recall(peer, slot, reason);
        self.event("has asked a receive back from", Some(peer));
        recall
    }

    fn raise(&self, peer: u32, seen: u32) {
        self.multi.raise(peer, seen);
    }

    fn tell_ready(&self, peer: u32, waits: Option<(&Key, u32)>) {
        self.multi.tell_ready(peer, waits);
    }

    fn find_published(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<Found> {
        if self.refuses() {
            return None;
        }
        self.multi.find_published(peer, key, last, len)
    }

    fn deliver(&self, peer: u32, found: &Found, message: &Outgoing<'_>) -> Delivery {
        if self.refuses() {
            return Delivery::Stream;
        }
        self.pause();
        let delivery = self.multi.deliver(peer, found, message);
        if delivery == Delivery::Pending {
            self.held.sends(message.sender, peer);
        }
        self.event("has delivered a message to", Some(peer));
        delivery
    }

    fn take_ended(&self, peer: u32, transfer: Ended) -> Option<u64> {
        if self.held.has_completion_of(peer) || self.refuses() {
            return None;
        }
        self.multi.take_ended(peer, transfer)
    }
}

impl SingleCopy for Chaos {
    fn locate(&self, peer: u32, memory: Memory, used: Use) -> Memory {
        self.multi.locate(peer, memory, used)
    }

    fn speculative_address(&self, memory: &Memory) -> Option<SpeculativeAddress> {
        self.multi.speculative_address(memory)
    }

    fn is_still(&self, memory: &Memory, place: u64) -> bool {
        self.multi.is_still(memory, place)
    }

    fn expose(&self, memory: &Memory, how: Exposure<'_>) -> Option<Memory> {
        self.multi.expose(memory, how)
    }

    fn release(&self, memory: &Memory) {
        self.multi.release(memory);
    }

    fn pull(&self, peer: u32, source: &Memory, target: PullTo<'_>) -> Pull {
        if self.refuses() {
            return Pull::No;
        }
        self.pause();
        let pull = self.multi.pull(peer, source, target);
        if let (PullTo::Receive(_, receiver, _), Pull::Pending | Pull::Joint(_) | Pull::Unordered) = (target, pull) {
            self.held.receives(receiver, peer);
        }
        self.event("has fetched from", Some(peer));
        pull
    }

    fn push(&self, peer: u32, source: &Memory, target: PushTo<'_>, sender: u32) -> Pull {
        // That a joint copy is refused says that there is none.
        if matches!(target, PushTo::Memory(_)) && self.refuses() {
            return Pull::No;
        }
        self.pause();
        let push = self.multi.push(peer, source, target, sender);
        if !matches!(push, Pull::No | Pull::Done) {
            self.held.sends(sender, peer);
        }
        self.event("has copied to", Some(peer));
        push
    }

    fn demotions(&self) -> u32 {
        self.multi.demotions()
    }

    fn keep_places(&self, more: bool) {
        self.multi.keep_places(more);
    }

    fn hears_of(&self, event: Event) {
        self.multi.hears_of(event);
    }
}

impl SharedMemory for Chaos {
    fn allocate(&self, len: usize, child: AfterFork) -> Option<*mut u8> {
        self.multi.allocate(len, child)
    }

    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: the contract is the same.
        unsafe { self.multi.free(memory) }
    }

    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.multi.place(memory, len)
    }

    fn map(&self, memory: &Memory, lease: Lease) -> Option<*mut u8> {
        self.multi.map(memory, lease)
    }

    unsafe fn copy(
        &self, peer: u32, own: &[Run], theirs: (&[Run], Name), direction: Direction,
    ) -> Result<(), NotCopied> {
        self.pause();
        // SAFETY: the contract is the same.
        let copied = unsafe { self.multi.copy(peer, own, theirs, direction) };
        self.event("has copied a window's memory with", Some(peer));
        copied
    }

    fn fence_all(&self) -> bool {
        self.multi.fence_all()
    }
}
