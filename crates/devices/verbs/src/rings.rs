//! Rings for the eager packets of busy peers, written by RDMA.
//!
//! A process that has taken many short packets from a peer offers it a ring of cells in its own memory. The peer
//! writes packets there as long as they fit and there are free cells, and the process looks there at each poll; the
//! shared receive queue takes the rest. Both count the packets of the channel in one sequence, so that they are
//! taken in the order of sending: what comes through the queue shows that all that was written before is there.
//!
//! Nothing completes at the receiver of a write, so nobody who sleeps is woken. Before it sleeps a process asks its
//! peers to pause. Until they all have said that they do, it sleeps only for moments.

use crate::ring::{Reader, Writer};
use crate::wire::{PREFIX, Prefix};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use tern_hca::{Access, MemoryRegion, ProtectionDomain, Remote};

/// What is said about a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Use this one.
    Offer { at: Remote, cells: u32, size: u32 },
    /// Write no more, and say so.
    Pause,
    /// Write again.
    Resume,
    /// Nothing more is written, until [`Word::Resume`].
    Paused,
}

impl Word {
    /// Bytes of a word.
    pub const LEN: usize = 24;

    pub fn encode(&self) -> [u8; Word::LEN] {
        let mut bytes = [0; Word::LEN];
        match *self {
            Word::Offer { at, cells, size } => {
                bytes[..8].copy_from_slice(&at.address.to_le_bytes());
                bytes[8..12].copy_from_slice(&at.key.to_le_bytes());
                bytes[12..16].copy_from_slice(&cells.to_le_bytes());
                bytes[16..20].copy_from_slice(&size.to_le_bytes());
                bytes[20] = 1;
            }
            Word::Pause => bytes[20] = 2,
            Word::Resume => bytes[20] = 3,
            Word::Paused => bytes[20] = 4,
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Word> {
        let bytes: &[u8; Word::LEN] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let address = word(0) as u64 | (word(4) as u64) << 32;
        Some(match bytes[20] {
            1 => Word::Offer { at: Remote { address, key: word(8) }, cells: word(12).max(1), size: word(16) },
            2 => Word::Pause,
            3 => Word::Resume,
            4 => Word::Paused,
            _ => return None,
        })
    }
}

/// Whether the peer writes to a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Active,
    /// It has been asked to pause.
    Pausing,
    Paused,
}

/// A ring in this process's memory.
pub struct Inbox {
    region: Option<MemoryRegion>,
    base: NonNull<u8>,
    layout: Layout,
    cells: u32,
    size: u32,
    pub reader: RefCell<Reader>,
    pub state: Cell<Use>,
}

impl Inbox {
    pub fn new(domain: &ProtectionDomain, cells: u32, size: u32) -> Option<Inbox> {
        // Whole pages: a child of fork may not get those that are registered.
        let layout =
            Layout::from_size_align(cells as usize * size as usize, tern_node::page_size()).ok()?.pad_to_align();
        // SAFETY: the length is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let reader = RefCell::new(Reader::new(cells));
        let state = Cell::new(Use::Active);
        let mut inbox = Inbox { region: None, base, layout, cells, size, reader, state };
        // SAFETY: freed after the region is dropped; a cell is read only when its prefix says that it is written,
        // and not written again before the peer has been told that it is free.
        inbox.region = unsafe { domain.register(base.as_ptr(), layout.size(), Access::ALL) }.ok();
        inbox.region.is_some().then_some(inbox)
    }

    pub fn offer(&self) -> Word {
        let key = self.region.as_ref().expect("registered").remote_key();
        let at = Remote { address: self.base.as_ptr() as u64, key };
        Word::Offer { at, cells: self.cells, size: self.size }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.layout.size()
    }

    /// The packet that comes next, if it has come: prefix, and the bytes in front of it.
    #[inline]
    pub fn peek(&self) -> Option<(Prefix, &[u8])> {
        let cell = self.reader.borrow().next();
        let end = (cell.index as usize + 1) * self.size as usize - PREFIX;
        // SAFETY: the last word of a cell, aligned, in memory that lives as long as this.
        let word = unsafe { &*self.base.as_ptr().add(end).cast::<AtomicU64>() };
        // Acquire: what was written before the prefix is seen after it.
        let prefix = Prefix::decode(&word.load(Ordering::Acquire).to_ne_bytes())?;
        if prefix.lap != cell.lap || prefix.len as usize > self.size as usize - PREFIX {
            return None;
        }
        let len = prefix.len as usize;
        // SAFETY: inside the cell, which the peer does not write to until it is told that it is free.
        let bytes = unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(end - len), len) };
        Some((prefix, bytes))
    }

    pub fn give_back(&self) -> u8 {
        self.reader.borrow_mut().give_back()
    }

    /// True when the peer should hear of free cells.
    pub fn is_due(&self) -> bool {
        self.reader.borrow().is_due()
    }

    /// The oldest packet that was seen has been used.
    pub fn taken(&self) {
        self.reader.borrow_mut().advance();
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.region = None;
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

/// A ring in a peer's memory.
pub struct Outbox {
    pub at: Remote,
    pub size: u32,
    pub writer: RefCell<Writer>,
    pub paused: Cell<bool>,
}

impl Outbox {
    /// What the peer has offered: a ring of so many cells of `size` bytes.
    pub fn new(at: Remote, cells: u32, size: u32) -> Outbox {
        Outbox { at, size, writer: RefCell::new(Writer::new(cells)), paused: Cell::new(false) }
    }

    /// The peer has so many more cells free.
    pub fn returned(&self, cells: u8) {
        self.writer.borrow_mut().returned(cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_survive() {
        let at = Remote { address: u64::MAX - 7, key: 9 };
        for word in [Word::Offer { at, cells: 32, size: 1 << 20 }, Word::Pause, Word::Resume, Word::Paused] {
            assert_eq!(Word::decode(&word.encode()), Some(word));
        }
        assert_eq!(Word::decode(&[0; Word::LEN]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Word::decode(&bytes);
        }
    }
}
