//! Tuple queues and single copies over two devices: whoever reaches the peer does it, and memory that processes
//! share is shared memory's alone.

use super::{MultiDevice, Way};
use std::ops::Range;
use tern_device::{
    Delivery, Direct, Direction, Group, Key, Memory, Name, News, NotCopied, Outgoing, Pair, PairFacts,
    PublishedReceive, Pull, Purpose, Recall, Run, SharedMemory, SingleCopy, SpeculativeAddress, Times, TupleQueue,
};

impl MultiDevice {
    /// The device for `peer`, and the peer's number there; none if it has no direct ways.
    #[inline]
    fn direct_to(&self, peer: u32) -> Option<(&dyn Direct, u32)> {
        match self.way(peer) {
            Way::Shm(peer) => Some((&self.shm, peer)),
            Way::Network => self.network.direct().map(|network| (network, peer)),
            Way::Far => None,
        }
    }

    /// The same, for a peer with which something is published.
    fn published_with(&self, peer: u32) -> (&dyn Direct, u32) {
        self.direct_to(peer).expect("what is published was published by it")
    }
}

impl PairFacts for MultiDevice {
    fn pair(&self, peer: u32) -> Pair {
        self.direct_to(peer).map_or_else(Pair::default, |(device, peer)| device.pair(peer))
    }

    fn times(&self, members: &[u32], group: &Group) -> Option<Times> {
        let here = |&member: &u32| match self.way(member) {
            Way::Shm(member) => Some(member),
            Way::Network | Way::Far => None,
        };
        let members: Vec<u32> = members.iter().map(here).collect::<Option<_>>()?;
        self.shm.times(&members, group)
    }

    fn is_waiting(&self, peer: u32, len: usize) -> bool {
        self.direct_to(peer).is_some_and(|(device, peer)| device.is_waiting(peer, len))
    }
}

impl TupleQueue for MultiDevice {
    fn threshold(&self) -> usize {
        let near = self.shm.threshold();
        self.network.direct().map_or(near, |network| near.min(network.threshold()))
    }

    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        let (device, peer) = self.direct_to(peer)?;
        device.publish(peer, key, memory, receiver, seen)
    }

    fn retract(&self, peer: u32, slot: u32) -> bool {
        let (device, peer) = self.published_with(peer);
        device.retract(peer, slot)
    }

    fn recall(&self, peer: u32, slot: u32) -> Recall {
        let (device, peer) = self.published_with(peer);
        device.recall(peer, slot)
    }

    fn news_line(&self, peer: u32, of: News) -> Option<*const u8> {
        self.direct_to(peer).and_then(|(device, peer)| device.news_line(peer, of))
    }

    fn take_filled(&self, peer: u32, slot: u32, room: u64) -> Option<u64> {
        let (device, peer) = self.published_with(peer);
        device.take_filled(peer, slot, room)
    }

    fn take_sent(&self, sender: u32) -> bool {
        // Of the other device only a look at everything tells.
        self.shm.take_sent(sender)
    }

    fn forget(&self, peer: u32, slot: u32) {
        let (device, peer) = self.published_with(peer);
        device.forget(peer, slot);
    }

    fn raise(&self, peer: u32, seen: u32) {
        let (device, peer) = self.published_with(peer);
        device.raise(peer, seen);
    }

    fn set_ready_to_receive(&self, peer: u32, key: &Key, taken: u32) {
        if let Some((device, peer)) = self.direct_to(peer) {
            device.set_ready_to_receive(peer, key, taken);
        }
    }

    fn clear_ready_to_receive(&self, peer: u32) {
        if let Some((device, peer)) = self.direct_to(peer) {
            device.clear_ready_to_receive(peer);
        }
    }

    fn is_ready_to_receive(&self, peer: u32, key: &Key, sent: u32) -> bool {
        self.direct_to(peer).is_some_and(|(device, peer)| device.is_ready_to_receive(peer, key, sent))
    }

    fn find_published(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<PublishedReceive> {
        self.direct_to(peer).and_then(|(device, peer)| device.find_published(peer, key, last, len))
    }

    fn deliver(&self, peer: u32, key: &Key, last: u32, message: &Outgoing<'_>) -> Delivery {
        match self.direct_to(peer) {
            Some((device, peer)) => device.deliver(peer, key, last, message),
            None => Delivery::Stream,
        }
    }
}

impl SingleCopy for MultiDevice {
    fn locate(&self, peer: u32, memory: Memory, quiet: bool) -> Memory {
        match self.direct_to(peer) {
            Some((device, peer)) => device.locate(peer, memory, quiet),
            None => memory,
        }
    }

    fn locate_for(&self, peer: u32, memory: Memory, quiet: bool, purpose: Purpose) -> Memory {
        match self.direct_to(peer) {
            Some((device, peer)) => device.locate_for(peer, memory, quiet, purpose),
            None => memory,
        }
    }

    fn named(&self, peer: u32, memory: Memory) -> Memory {
        match self.way(peer) {
            Way::Shm(peer) => self.shm.named(peer, memory),
            Way::Network | Way::Far => memory,
        }
    }

    fn release(&self, memory: &Memory) {
        // A network gives keys, and shared memory alone has regions.
        if memory.is_region() {
            self.shm.release(memory);
        } else if let Some(network) = self.network.direct() {
            network.release(memory);
        }
    }

    fn speculative_address(&self, memory: &Memory) -> Option<SpeculativeAddress> {
        self.shm.speculative_address(memory)
    }

    fn is_still(&self, memory: &Memory, place: u64) -> bool {
        self.shm.is_still(memory, place)
    }

    fn demotions(&self) -> u32 {
        self.shm.demotions()
    }

    fn keep_places(&self, more: bool) {
        self.shm.keep_places(more);
    }

    fn give_back(&self, quiet: bool) {
        self.shm.give_back(quiet);
    }

    fn pull(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32) -> Pull {
        match self.direct_to(peer) {
            Some((device, peer)) => device.pull(peer, source, target, receiver),
            None => Pull::No,
        }
    }

    fn fetch(&self, peer: u32, source: &Memory, target: &Memory) -> bool {
        self.direct_to(peer).is_some_and(|(device, peer)| device.fetch(peer, source, target))
    }

    fn locate_span(&self, peer: u32, span: &Memory, bytes: u64, quiet: bool) -> Option<Memory> {
        self.direct_to(peer).and_then(|(device, peer)| device.locate_span(peer, span, bytes, quiet))
    }

    fn open_region(&self, peer: u32, span: &Memory, segments: &[Run]) -> Option<Memory> {
        self.direct_to(peer).and_then(|(device, peer)| device.open_region(peer, span, segments))
    }

    fn copy_segments(&self, peer: u32, region: &Memory, target: &[Run]) -> bool {
        self.direct_to(peer).is_some_and(|(device, peer)| device.copy_segments(peer, region, target))
    }

    fn join(&self, peer: u32, source: &Memory, number: u64, sender: u32) -> Pull {
        match self.direct_to(peer) {
            Some((device, peer)) => device.join(peer, source, number, sender),
            None => Pull::No,
        }
    }

    fn push(&self, peer: u32, source: &Memory, target: &Memory, sender: u32) -> Pull {
        match self.direct_to(peer) {
            Some((device, peer)) => device.push(peer, source, target, sender),
            None => Pull::No,
        }
    }

    fn end_round(&self) {
        self.shm.end_round();
    }
}

impl SharedMemory for MultiDevice {
    fn allocate(&self, len: usize) -> Option<*mut u8> {
        self.shm.allocate(len)
    }

    fn allocate_apart(&self, len: usize) -> Option<*mut u8> {
        self.shm.allocate_apart(len)
    }

    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: the contract is the same.
        unsafe { self.shm.free(memory) }
    }

    fn shares_with(&self, peer: u32) -> bool {
        match self.way(peer) {
            Way::Shm(peer) => self.shm.shares_with(peer),
            Way::Network | Way::Far => false,
        }
    }

    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.shm.place(memory, len)
    }

    fn view(&self, memory: &Memory) -> Option<*mut u8> {
        self.shm.view(memory)
    }

    fn map(&self, place: u64, len: usize) -> Option<*mut u8> {
        self.shm.map(place, len)
    }

    unsafe fn unmap(&self, address: *mut u8, len: usize) {
        // SAFETY: the contract is the same.
        unsafe { self.shm.unmap(address, len) }
    }

    fn pin(&self, memory: *const u8, len: usize) -> Option<(Range<usize>, u64)> {
        self.shm.pin(memory, len)
    }

    fn unpin(&self, range: &Range<usize>) {
        self.shm.unpin(range);
    }

    fn expose(&self, memory: *const u8, len: usize) -> u64 {
        self.shm.expose(memory, len)
    }

    fn cover(&self, memory: *const u8, len: usize, cookie: u64) {
        self.shm.cover(memory, len, cookie);
    }

    fn copies(&self, peer: u32) -> bool {
        match self.way(peer) {
            Way::Shm(peer) => self.shm.copies(peer),
            Way::Network | Way::Far => false,
        }
    }

    unsafe fn copy(
        &self, peer: u32, own: &[Run], theirs: (&[Run], Name), direction: Direction,
    ) -> Result<(), NotCopied> {
        match self.way(peer) {
            // SAFETY: the contract is the same.
            Way::Shm(peer) => unsafe { self.shm.copy(peer, own, theirs, direction) },
            Way::Network | Way::Far => Err(NotCopied::Refused),
        }
    }

    fn is_there(&self, peer: u32) -> bool {
        match self.way(peer) {
            Way::Shm(peer) => self.shm.is_there(peer),
            Way::Network | Way::Far => true,
        }
    }

    fn fence_all(&self) -> bool {
        self.shm.fence_all()
    }
}
