//! Windows: memory of other processes by the provider's reads, writes and atomics.

use crate::Ofi;
use crate::fabric::Change;
use tern_device::{Direction, Lost, RemoteMemory, Run, Word};

impl RemoteMemory for Ofi {
    fn reaches(&self, peer: u32) -> bool {
        peer < self.world
    }

    unsafe fn reveal(&self, memory: *mut u8, len: usize) -> Option<u64> {
        let state = &mut *self.shared.call();
        state.registered.as_mut()?.reveal(&state.fabric, memory, len)
    }

    fn conceal(&self, key: u64) {
        self.shared.call().registered.iter_mut().for_each(|registered| registered.conceal(key));
    }

    unsafe fn transfer(&self, peer: u32, own: &[Run], theirs: &[Run], key: u64, way: Direction) -> Result<u64, Lost> {
        self.shared.call().transfer(peer, own, theirs, key, way)
    }

    unsafe fn fetch_add(&self, word: Word, add: u64, was: *mut u64) -> Result<u64, Lost> {
        self.shared.call().change(word, Change::Add(add), was)
    }

    unsafe fn compare_swap(&self, word: Word, compare: u64, swap: u64, was: *mut u64) -> Result<u64, Lost> {
        self.shared.call().change(word, Change::Swap { compare, swap }, was)
    }

    fn begun(&self, peer: u32) -> u64 {
        self.shared.call().accesses_to(peer).0
    }

    fn ended(&self, peer: u32) -> u64 {
        self.shared.call().accesses_to(peer).1
    }

    fn is_lost(&self, peer: u32) -> bool {
        self.shared.call().accesses_to(peer).2
    }
}
