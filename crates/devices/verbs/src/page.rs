//! The memory of one pair: as sender its table, which the peer writes; as receiver where claims are read to.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use tern_device::PublishedReceive;
use tern_device::table::Layout;
use tern_hca::{Access, MemoryRegion, ProtectionDomain, Segment};

/// Slots of every table.
pub const SLOTS: usize = 32;

/// What a sender knows of a receive that it finds there: it is on another node.
pub const FAR: PublishedReceive = PublishedReceive { is_private: false, waits: false };

/// Registered words, of which the HCA writes some.
pub struct Page {
    // Dropped before the memory that it is registered for.
    region: MemoryRegion,
    words: Box<[AtomicU64]>,
}

impl Page {
    pub fn new(domain: &ProtectionDomain) -> tern_hca::Result<Page> {
        let table = Layout::new(SLOTS).words();
        let words: Box<[AtomicU64]> = (0..table + SLOTS).map(|_| AtomicU64::new(0)).collect();
        let len = size_of_val(&*words);
        // SAFETY: the words live as long as the region (`Page` drops it first), and are only read and written as
        // atomics here.
        let region = unsafe { domain.register(words.as_ptr().cast_mut().cast(), len, Access::ALL) }?;
        Ok(Page { region, words })
    }

    /// Where the peer finds the table.
    pub fn address(&self) -> (u64, u32) {
        (self.region.address(), self.region.remote_key())
    }

    /// Reads a word of the table, after those read before.
    #[inline]
    pub fn load(&self, at: usize) -> u64 {
        // Acquire: pairs with the order in which the HCA places what the peer writes.
        self.words[at].load(Ordering::Acquire)
    }

    /// Writes a word of the table. What is read after this was read after a peer that reads from now on sees it.
    pub fn store(&self, at: usize, word: u64) {
        self.words[at].store(word, Ordering::SeqCst);
        // Pairs with the peer's ask and read, which the HCA executes in that order.
        fence(Ordering::SeqCst);
    }

    fn landing(slot: u32) -> usize {
        Layout::new(SLOTS).words() + slot as usize
    }

    /// Where the claim of a slot is read to.
    pub fn landing_segment(&self, slot: u32) -> Segment {
        self.region.segment(Page::landing(slot) * 8, 8)
    }

    /// What was read there.
    pub fn landed(&self, slot: u32) -> u64 {
        self.load(Page::landing(slot))
    }
}
