//! What a member has attached to a dynamic window: a table that the others read by themselves.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Most pieces of memory that a member can attach.
pub const ENTRIES: usize = 2047;

/// Bytes of a table before its entries, and of one entry.
pub const HEAD: usize = std::mem::offset_of!(Table, entries);
pub const ENTRY: usize = size_of::<Entry>();

/// The table of one member, who alone writes to it. Readers take a copy and look at the version before
/// and after.
#[repr(C)]
pub struct Table {
    /// Odd while it changes.
    version: AtomicU32,
    /// Entries that have ever been used.
    used: AtomicU32,
    _pad: [u64; 3],
    entries: [Entry; ENTRIES],
}

#[repr(C)]
struct Entry {
    start: AtomicU64,
    /// Bytes; 0: the entry is free.
    len: AtomicU64,
    /// Where it lies in the memory that all share; in a window that the card serves, its key. 0: it is private.
    place: AtomicU64,
    _pad: u64,
}

/// A piece of attached memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Address in its own process.
    pub start: u64,
    pub len: u64,
    pub place: u64,
}

impl Piece {
    /// True when the bytes from `low` to `high` lie in it.
    pub fn holds(&self, low: u64, high: u64) -> bool {
        self.start <= low && high <= self.start.saturating_add(self.len)
    }
}

impl Table {
    /// Entries as they were read from the memory of another process.
    pub fn decode(entries: &[u8]) -> Vec<Piece> {
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let piece = |entry: &[u8]| {
            let [start, len, place] = [0, 8, 16].map(|at| word(&entry[at..at + 8]));
            Piece { start, len, place }
        };
        entries.chunks_exact(ENTRY).map(piece).collect()
    }

    fn piece(&self, index: usize) -> Piece {
        let entry = &self.entries[index];
        // Relaxed: the version tells whether the three belong together.
        Piece {
            start: entry.start.load(Ordering::Relaxed),
            len: entry.len.load(Ordering::Relaxed),
            place: entry.place.load(Ordering::Relaxed),
        }
    }

    fn set(&self, index: usize, piece: Piece) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        // Release: the entry changes after the version has become odd, for a reader that sees it.
        fence(Ordering::Release);
        let entry = &self.entries[index];
        entry.start.store(piece.start, Ordering::Relaxed);
        entry.len.store(piece.len, Ordering::Relaxed);
        entry.place.store(piece.place, Ordering::Relaxed);
        let used = self.used.load(Ordering::Relaxed).max(index as u32 + 1);
        self.used.store(used, Ordering::Relaxed);
        // Release: pairs with the acquire in `version`.
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// Adds a piece; the owner alone. False when it is full.
    pub fn add(&self, piece: Piece) -> bool {
        let free = (0..ENTRIES).find(|&index| self.piece(index).len == 0);
        free.inspect(|&index| self.set(index, piece)).is_some()
    }

    /// Takes the piece out that begins at `start`; the owner alone.
    pub fn remove(&self, start: u64) -> Option<Piece> {
        let used = self.used.load(Ordering::Relaxed) as usize;
        let index = (0..used).find(|&index| self.piece(index).len > 0 && self.piece(index).start == start)?;
        let piece = self.piece(index);
        self.set(index, Piece::default());
        Some(piece)
    }

    /// The piece that fits, if there is one, and the version that it was found in; `None` while the
    /// table changes: look again.
    pub fn find(&self, fits: impl Fn(&Piece) -> bool) -> Option<(Option<Piece>, u32)> {
        let version = self.version();
        if !version.is_multiple_of(2) {
            return None;
        }
        let used = (self.used.load(Ordering::Relaxed) as usize).min(ENTRIES);
        let found = (0..used).map(|index| self.piece(index)).find(|piece| piece.len > 0 && fits(piece));
        // Acquire: what was read lies before the second look at the version; pairs with the fence
        // in `set`.
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == version).then_some((found, version))
    }

    /// Changes with the table.
    #[inline]
    pub fn version(&self) -> u32 {
        // Acquire: pairs with the release in `set`.
        self.version.load(Ordering::Acquire)
    }
}
