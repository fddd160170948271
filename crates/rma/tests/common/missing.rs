//! A node on which the kernel does not know some memory of a process at some times, as its module does when a region has ended.

use std::cell::Cell;
use std::time::Duration;
use tern_device::{
    Abilities, Channel, Delivery, Direct, Direction, Header, Key, Memory, Name, NotCopied, Outgoing, PairFacts,
    Payload, Pull, Run, SharedMemory, SingleCopy, Sink, TupleQueue,
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
pub struct Missing(pub Shm);

impl Missing {
    fn windows(&self) -> &dyn Direct {
        self.0.direct().expect("shared memory")
    }
}

impl Channel for Missing {
    fn abilities(&self) -> &Abilities {
        self.0.abilities()
    }
    fn reaches(&self, peer: u32) -> bool {
        self.0.reaches(peer)
    }
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        self.0.copy_and_send(peer, header, payload)
    }
    fn poll(&self, sink: &mut dyn Sink) -> usize {
        self.0.poll(sink)
    }
    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }
    fn prepare_sleep(&self) -> u32 {
        self.0.prepare_sleep()
    }
    fn sleep(&self, token: u32, timeout: Duration) {
        self.0.sleep(token, timeout);
    }
    fn awake(&self) -> u32 {
        self.0.awake()
    }
    fn end_sleep(&self) {
        self.0.end_sleep();
    }
    fn ring(&self, peer: u32) {
        self.0.ring(peer);
    }
}

impl PairFacts for Missing {}

impl TupleQueue for Missing {
    fn threshold(&self) -> usize {
        usize::MAX
    }
    fn publish(&self, _: u32, _: &Key, _: &Memory, _: u32, _: u32) -> Option<u32> {
        None
    }
    fn retract(&self, _: u32, _: u32) -> bool {
        unreachable!("nothing is published")
    }
    fn forget(&self, _: u32, _: u32) {}
    fn raise(&self, _: u32, _: u32) {}
    fn deliver(&self, _: u32, _: &Key, _: u32, _: &Outgoing<'_>) -> Delivery {
        Delivery::Stream
    }
}

impl SingleCopy for Missing {
    fn locate(&self, _: u32, memory: Memory, _: bool) -> Memory {
        memory
    }
    fn pull(&self, _: u32, _: &Memory, _: &Memory, _: u32) -> Pull {
        Pull::No
    }
}

impl SharedMemory for Missing {
    fn allocate(&self, len: usize) -> Option<*mut u8> {
        self.windows().allocate(len)
    }
    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: the contract is the same.
        unsafe { self.windows().free(memory) }
    }
    fn shares_with(&self, peer: u32) -> bool {
        self.windows().shares_with(peer)
    }
    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.windows().place(memory, len)
    }
    fn map(&self, place: u64, len: usize) -> Option<*mut u8> {
        self.windows().map(place, len)
    }
    unsafe fn unmap(&self, address: *mut u8, len: usize) {
        // SAFETY: the contract is the same.
        unsafe { self.windows().unmap(address, len) };
    }
    fn expose(&self, memory: *const u8, len: usize) -> u64 {
        self.windows().expose(memory, len)
    }
    fn cover(&self, memory: *const u8, len: usize, cookie: u64) {
        self.windows().cover(memory, len, cookie);
    }
    fn copies(&self, peer: u32) -> bool {
        self.windows().copies(peer)
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
    fn is_there(&self, peer: u32) -> bool {
        self.windows().is_there(peer)
    }
    fn fence_all(&self) -> bool {
        self.windows().fence_all()
    }
}
