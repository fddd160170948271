//! Tuple queues and single copies over two devices: whoever reaches the peer does it, and memory that processes
//! share is shared memory's alone.

use super::{MultiDevice, Via};
use std::rc::Rc;
use tern_device::{
    AfterFork, Chooser, Copying, Delivery, Direct, Direction, Ended, Event, Exposure, Found, Group, Key, Lease, Memory,
    Name, NotCopied, Outgoing, Pair, PairFacts, PeerState, Pull, PullTo, PushTo, Recall, RecallReason, Run,
    SharedMemory, SingleCopy, Situation, SpeculativeAddress, Then, Times, TupleQueue, Use,
};
use tern_shm::News;

impl MultiDevice {
    /// The device for `peer`, and the peer's number there; none if it has no direct ways.
    #[inline]
    fn direct_to(&self, peer: u32) -> Option<(&dyn Direct, u32)> {
        match self.way(peer) {
            Via::Shm(peer) => Some((&self.shm, peer)),
            Via::Network => self.network.direct().map(|network| (network, peer)),
            Via::Far => None,
        }
    }

    /// The same, for a peer with which something is published.
    fn published_with(&self, peer: u32) -> (&dyn Direct, u32) {
        self.direct_to(peer).expect("what is published was published by it")
    }

    /// See [`tern_shm::Shm::news_line`].
    pub fn news_line(&self, peer: u32, of: News) -> Option<*const u8> {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.news_line(peer, of),
            Via::Network | Via::Far => None,
        }
    }
}

impl PairFacts for MultiDevice {
    fn pair(&self, peer: u32) -> Pair {
        self.direct_to(peer).map_or_else(Pair::default, |(device, peer)| device.pair(peer))
    }

    fn mechanism(&self, peer: u32) -> &'static str {
        self.direct_to(peer).map_or("packets", |(device, peer)| device.mechanism(peer))
    }

    fn peer_is(&self, peer: u32, state: PeerState<'_>) -> bool {
        match self.direct_to(peer) {
            Some((device, peer)) => device.peer_is(peer, state),
            None => state == PeerState::Alive,
        }
    }

    #[inline]
    fn situation(&self, peer: u32, copying: Copying<'_>, then: Then) -> Option<Situation> {
        self.direct_to(peer).and_then(|(device, peer)| device.situation(peer, copying, then))
    }

    fn chooser(&self) -> Option<Rc<Chooser>> {
        self.shm.chooser()
    }

    fn times(&self, members: &[u32], group: &Group) -> Option<Times> {
        let here = |&member: &u32| match self.way(member) {
            Via::Shm(member) => Some(member),
            Via::Network | Via::Far => None,
        };
        let members: Vec<u32> = members.iter().map(here).collect::<Option<_>>()?;
        self.shm.times(&members, group)
    }
}

impl TupleQueue for MultiDevice {
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        let (device, peer) = self.direct_to(peer)?;
        device.publish(peer, key, memory, receiver, seen)
    }

    fn recall(&self, peer: u32, slot: u32, reason: RecallReason) -> Recall {
        let (device, peer) = self.published_with(peer);
        device.recall(peer, slot, reason)
    }

    fn raise(&self, peer: u32, seen: u32) {
        let (device, peer) = self.published_with(peer);
        device.raise(peer, seen);
    }

    fn tell_ready(&self, peer: u32, waits: Option<(&Key, u32)>) {
        if let Some((device, peer)) = self.direct_to(peer) {
            device.tell_ready(peer, waits);
        }
    }

    fn find_published(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<Found> {
        self.direct_to(peer).and_then(|(device, peer)| device.find_published(peer, key, last, len))
    }

    fn deliver(&self, peer: u32, found: &Found, message: &Outgoing<'_>) -> Delivery {
        let (device, peer) = self.published_with(peer);
        device.deliver(peer, found, message)
    }

    fn take_ended(&self, peer: u32, transfer: Ended) -> Option<u64> {
        self.direct_to(peer).and_then(|(device, peer)| device.take_ended(peer, transfer))
    }
}

impl SingleCopy for MultiDevice {
    fn locate(&self, peer: u32, memory: Memory, used: Use) -> Memory {
        match self.direct_to(peer) {
            Some((device, peer)) => device.locate(peer, memory, used),
            None => memory,
        }
    }

    fn speculative_address(&self, memory: &Memory) -> Option<SpeculativeAddress> {
        self.shm.speculative_address(memory)
    }

    fn is_still(&self, memory: &Memory, place: u64) -> bool {
        self.shm.is_still(memory, place)
    }

    fn expose(&self, memory: &Memory, how: Exposure<'_>) -> Option<Memory> {
        let near = |peer| match self.way(peer) {
            Via::Shm(peer) => Some(peer),
            Via::Network | Via::Far => None,
        };
        let how = match how {
            Exposure::InRequest(peer) => Exposure::InRequest(near(peer)?),
            Exposure::Segments(peer, segments) => Exposure::Segments(near(peer)?, segments),
            Exposure::InPlace | Exposure::ByKernel(_) | Exposure::Named => how,
        };
        self.shm.expose(memory, how)
    }

    fn release(&self, memory: &Memory) {
        // A network gives keys, and those of shared memory name regions.
        if memory.key == 0 || memory.is_region() {
            self.shm.release(memory);
        } else if let Some(network) = self.network.direct() {
            network.release(memory);
        }
    }

    fn pull(&self, peer: u32, source: &Memory, target: PullTo<'_>) -> Pull {
        self.direct_to(peer).map_or(Pull::No, |(device, peer)| device.pull(peer, source, target))
    }

    fn push(&self, peer: u32, source: &Memory, target: PushTo<'_>, sender: u32) -> Pull {
        self.direct_to(peer).map_or(Pull::No, |(device, peer)| device.push(peer, source, target, sender))
    }

    fn demotions(&self) -> u32 {
        self.shm.demotions()
    }

    fn keep_places(&self, more: bool) {
        self.shm.keep_places(more);
    }

    fn hears_of(&self, event: Event) {
        let Event::Lost(peer) = event else { return self.shm.hears_of(event) };
        if let Some((device, peer)) = self.direct_to(peer) {
            device.hears_of(Event::Lost(peer));
        }
    }
}

impl SharedMemory for MultiDevice {
    fn allocate(&self, len: usize, child: AfterFork) -> Option<*mut u8> {
        self.shm.allocate(len, child)
    }

    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: the contract is the same.
        unsafe { self.shm.free(memory) }
    }

    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.shm.place(memory, len)
    }

    fn map(&self, memory: &Memory, lease: Lease) -> Option<*mut u8> {
        self.shm.map(memory, lease)
    }

    unsafe fn copy(
        &self, peer: u32, own: &[Run], theirs: (&[Run], Name), direction: Direction,
    ) -> Result<(), NotCopied> {
        match self.way(peer) {
            // SAFETY: the contract is the same.
            Via::Shm(peer) => unsafe { self.shm.copy(peer, own, theirs, direction) },
            Via::Network | Via::Far => Err(NotCopied::Refused),
        }
    }

    fn fence_all(&self) -> bool {
        self.shm.fence_all()
    }
}
