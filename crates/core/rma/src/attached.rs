//! What a member has attached to a dynamic window: a table that the others read by themselves.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use tern_mcm::Name;

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
    /// Of its region of the kernel's module; 0: it has none.
    cookie: AtomicU64,
}

/// A piece of attached memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Address in its own process.
    pub start: u64,
    pub len: u64,
    pub place: u64,
    pub cookie: u64,
}

impl Piece {
    /// True when the bytes from `low` to `high` lie in it.
    pub fn holds(&self, low: u64, high: u64) -> bool {
        self.start <= low && high <= self.end()
    }

    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.len)
    }

    /// By what the kernel's module knows it.
    pub fn name(&self) -> Name {
        Name { cookie: self.cookie, start: self.start }
    }
}

/// Whether all of the run (address, bytes) lies in pieces that adjoin each other. `end_of` gives the end of the piece that
/// an address lies in.
pub fn is_covered((start, bytes): (u64, u64), mut end_of: impl FnMut(u64) -> Option<u64>) -> bool {
    let (mut at, Some(end)) = (start, start.checked_add(bytes)) else { return false };
    while at < end {
        let Some(reached) = end_of(at) else { return false };
        at = reached;
    }
    true
}

/// Which of the pieces that an access reaches have a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    None,
    Some,
    All,
}

/// Whether all of these runs is attached, in whatever pieces; then, which of these have a place.
pub fn cover(pieces: &[Piece], runs: impl IntoIterator<Item = (u64, u64)>) -> Option<Placed> {
    let (mut some, mut all) = (false, true);
    let mut end_of = |at: u64| {
        let piece = pieces.iter().find(|piece| piece.len > 0 && piece.holds(at, at + 1))?;
        some |= piece.place != 0;
        all &= piece.place != 0;
        Some(piece.end())
    };
    let covered = runs.into_iter().all(|run| is_covered(run, &mut end_of));
    covered.then_some(match (some, all) {
        (false, _) => Placed::None,
        (true, false) => Placed::Some,
        (true, true) => Placed::All,
    })
}

impl Table {
    /// Entries as they were read from the memory of another process.
    pub fn decode(entries: &[u8]) -> Vec<Piece> {
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let piece = |entry: &[u8]| {
            let [start, len, place, cookie] = [0, 8, 16, 24].map(|at| word(&entry[at..at + 8]));
            Piece { start, len, place, cookie }
        };
        entries.chunks_exact(ENTRY).map(piece).collect()
    }

    fn piece(&self, index: usize) -> Piece {
        let entry = &self.entries[index];
        // Relaxed: the version tells whether the four belong together.
        Piece {
            start: entry.start.load(Ordering::Relaxed),
            len: entry.len.load(Ordering::Relaxed),
            place: entry.place.load(Ordering::Relaxed),
            cookie: entry.cookie.load(Ordering::Relaxed),
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
        entry.cookie.store(piece.cookie, Ordering::Relaxed);
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
        self.read(|mut pieces| Iterator::find(&mut pieces, &fits))
    }

    /// All pieces; `None` as for [`Table::find`].
    pub fn all(&self) -> Option<Vec<Piece>> {
        self.read(|pieces| pieces.collect()).map(|(all, _)| all)
    }

    fn read<T>(&self, look: impl FnOnce(&mut dyn Iterator<Item = Piece>) -> T) -> Option<(T, u32)> {
        let version = self.version();
        if !version.is_multiple_of(2) {
            return None;
        }
        let used = (self.used.load(Ordering::Relaxed) as usize).min(ENTRIES);
        let found = look(&mut (0..used).map(|index| self.piece(index)).filter(|piece| piece.len > 0));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_adjoins_is_one() {
        let piece = |start, len, place| Piece { start, len, place, cookie: 0 };
        let pieces = [piece(300, 100, 0), piece(100, 100, 0), piece(0, 0, 0), piece(200, 100, 7), piece(500, 10, 0)];
        let covered = |runs: &[(u64, u64)]| cover(&pieces, runs.iter().copied());
        assert_eq!(covered(&[(100, 100)]), Some(Placed::None));
        assert_eq!(covered(&[(100, 300)]), Some(Placed::Some));
        assert_eq!(covered(&[(220, 80)]), Some(Placed::All));
        assert_eq!(covered(&[(120, 10), (310, 90), (500, 10)]), Some(Placed::None));
        assert_eq!(covered(&[(120, 100), (500, 10)]), Some(Placed::Some));
        for missing in [(99, 2), (399, 2), (400, 1), (0, 1), (350, 200), (u64::MAX - 5, 100), (u64::MAX, 1)] {
            assert_eq!(covered(&[(150, 1), missing]), None, "{missing:?}");
        }
    }
}
