//! Chaos in one-sided accesses by the card: their ends are told late, and so in another order across peers.

use super::Chaos;
use tern_device::{Direction, Lost, RemoteMemory, Run, Word};

impl Chaos {
    fn card(&self) -> &dyn RemoteMemory {
        self.multi_remote().expect("it is asked for where there is one")
    }

    /// An access has begun, or failed.
    fn accessed(&self, peer: u32, access: Result<u64, Lost>) -> Result<u64, Lost> {
        self.event("has accessed memory of", Some(peer));
        access
    }
}

impl RemoteMemory for Chaos {
    fn reaches(&self, peer: u32) -> bool {
        self.card().reaches(peer)
    }

    unsafe fn reveal(&self, memory: *mut u8, len: usize) -> Option<u64> {
        // SAFETY: the contract is the same.
        unsafe { self.card().reveal(memory, len) }
    }

    fn conceal(&self, key: u64) {
        self.card().conceal(key);
    }

    unsafe fn transfer(&self, peer: u32, own: &[Run], theirs: &[Run], key: u64, way: Direction) -> Result<u64, Lost> {
        // SAFETY: the contract is the same.
        self.accessed(peer, unsafe { self.card().transfer(peer, own, theirs, key, way) })
    }

    unsafe fn fetch_add(&self, word: Word, add: u64, was: *mut u64) -> Result<u64, Lost> {
        // SAFETY: the contract is the same.
        self.accessed(word.peer, unsafe { self.card().fetch_add(word, add, was) })
    }

    unsafe fn compare_swap(&self, word: Word, compare: u64, swap: u64, was: *mut u64) -> Result<u64, Lost> {
        // SAFETY: the contract is the same.
        self.accessed(word.peer, unsafe { self.card().compare_swap(word, compare, swap, was) })
    }

    fn begun(&self, peer: u32) -> u64 {
        self.card().begun(peer)
    }

    fn ended(&self, peer: u32) -> u64 {
        let ended = self.card().ended(peer);
        let mut told = self.told.borrow_mut();
        let told = told.entry(peer).or_default();
        if !self.keeps_back() {
            *told = ended;
        }
        *told
    }

    fn is_lost(&self, peer: u32) -> bool {
        self.card().is_lost(peer)
    }
}
