//! A node on which the kernel does not know some memory of a process at some times, as its module does when a region has ended.

use std::cell::Cell;
use std::time::Duration;
use tern_device::{
    Abilities, AfterFork, Channel, Delivery, Direct, Direction, Exposure, Found, Header, Key, Lease, Memory, Name,
    NotCopied, Outgoing, Pair, PairFacts, Payload, PeerState, Pull, PullTo, Recall, RecallReason, Run, SharedMemory,
    SingleCopy, Sink, TupleQueue, Use,
};
use tern_shm::Shm;

thread_local! {
    static COPIES: Cell<u32> = const { Cell::new(0) };
}

/// Copies that this thread, which is one process, has asked the kernel for.
pub fn copies() -> u32 {
    COPIES.get()
}

/// Shared memory of which windows know all, and messages nothing.
pub struct Missing {
    shm: Shm,
    abilities: Abilities,
}

impl Missing {
    pub fn new(shm: Shm) -> Missing {
        let abilities = Abilities { direct_from: usize::MAX, ..shm.abilities().clone() };
        Missing { shm, abilities }
    }

    fn windows(&self) -> &dyn Direct {
        self.shm.direct().expect("shared memory")
    }
}

impl Channel for Missing {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }
    fn reaches(&self, peer: u32) -> bool {
        self.shm.reaches(peer)
    }
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        self.shm.copy_and_send(peer, header, payload)
    }
    fn poll(&self, sink: &mut dyn Sink) -> usize {
        self.shm.poll(sink)
    }
    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }
    fn prepare_sleep(&self) -> u32 {
        self.shm.prepare_sleep()
    }
    fn sleep(&self, token: u32, timeout: Duration) {
        self.shm.sleep(token, timeout);
    }
    fn awake(&self) -> u32 {
        self.shm.awake()
    }
    fn end_sleep(&self) {
        self.shm.end_sleep();
    }
    fn ring(&self, peer: u32) {
        self.shm.ring(peer);
    }
}

impl PairFacts for Missing {
    fn pair(&self, peer: u32) -> Pair {
        let Pair { near, kernel, .. } = self.windows().pair(peer);
        Pair { near, kernel, ..Pair::default() }
    }
    fn peer_is(&self, peer: u32, state: PeerState<'_>) -> bool {
        self.windows().peer_is(peer, state)
    }
}

impl TupleQueue for Missing {
    fn publish(&self, _: u32, _: &Key, _: &Memory, _: u32, _: u32) -> Option<u32> {
        None
    }
    fn recall(&self, _: u32, _: u32, _: RecallReason) -> Recall {
        unreachable!("nothing is published")
    }
    fn raise(&self, _: u32, _: u32) {}
    fn find_published(&self, _: u32, _: &Key, _: u32, _: u64) -> Option<Found> {
        None
    }
    fn deliver(&self, _: u32, _: &Found, _: &Outgoing<'_>) -> Delivery {
        unreachable!("nothing was found")
    }
}

impl SingleCopy for Missing {
    fn locate(&self, _: u32, memory: Memory, _: Use) -> Memory {
        memory
    }
    fn expose(&self, memory: &Memory, how: Exposure<'_>) -> Option<Memory> {
        matches!(how, Exposure::ByKernel(_)).then(|| self.windows().expose(memory, how)).flatten()
    }
    fn release(&self, memory: &Memory) {
        self.windows().release(memory);
    }
    fn pull(&self, _: u32, _: &Memory, _: PullTo<'_>) -> Pull {
        Pull::No
    }
}

impl SharedMemory for Missing {
    fn allocate(&self, len: usize, child: AfterFork) -> Option<*mut u8> {
        self.windows().allocate(len, child)
    }
    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: the contract is the same.
        unsafe { self.windows().free(memory) }
    }
    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.windows().place(memory, len)
    }
    fn map(&self, memory: &Memory, lease: Lease) -> Option<*mut u8> {
        self.windows().map(memory, lease)
    }
    /// Every third copy misses; of several runs that are written some may be.
    unsafe fn copy(
        &self, peer: u32, own: &[Run], theirs: (&[Run], Name), direction: Direction,
    ) -> Result<(), NotCopied> {
        COPIES.set(copies() + 1);
        if copies().is_multiple_of(3) && (direction == Direction::Get || theirs.0.len() == 1) {
            return Err(NotCopied::Missed);
        }
        // SAFETY: the contract is the same.
        unsafe { self.windows().copy(peer, own, theirs, direction) }
    }
    fn fence_all(&self) -> bool {
        self.windows().fence_all()
    }
}
