//! The ground that promotion stands on, once it is known to be allowed, and the slots of offsets
//! that promoted memory lies in.

use super::ground::Ground;
use super::owner::{Malloc, Owned};
use super::{Refusal, flags, process};
use crate::view::VIEW;
use std::ops::Range;
use tern_node::maps::Vma;

/// Chunks that are promoted at a time, and the heap; fewer where [`LEAST_SLOT`] asks for that.
const MOST_SLOTS: u64 = 256;
/// Offsets for one chunk: a mapping can grow to that many bytes, more than a node's memory. Where the
/// span of the heap is large enough, it is what an address space has (2^47).
const LEAST_SLOT: u64 = 1 << 42;
/// What is tried as the size of all slots together.
pub const AREAS: [u32; 13] = [55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43];

/// Number and size of the slots in an area of that many bytes. Sizes are odd multiples of a view, so
/// that [`Views`](crate::Views) finds chunks of different slots in different entries of its table.
pub fn divide(area: u64) -> (u64, u64) {
    let slots = (area / LEAST_SLOT).clamp(1, MOST_SLOTS);
    (slots, area / slots - VIEW)
}

/// What promotion needs in a process.
pub struct Ready {
    pub ground: &'static Ground,
    pub malloc: Malloc,
    /// For each slot of the area, the address that its first offset is at. The first is the heap's.
    pub slots: Vec<Option<usize>>,
    /// Bytes of one.
    slot_len: u64,
    /// Of the heap's slot, offsets whose memory the program has given up.
    pub unused: Vec<Range<u64>>,
}

impl Ready {
    /// `slots` slots of `slot_len` bytes in the area of `ground`, all free.
    pub fn new(ground: &'static Ground, malloc: Malloc, slots: usize, slot_len: u64) -> Ready {
        Ready { ground, malloc, slots: vec![None; slots], slot_len, unused: Vec::new() }
    }

    pub fn offset_of(&self, slot: usize) -> u64 {
        self.ground.area.start + slot as u64 * self.slot_len
    }

    pub fn slot_of(&self, offset: u64) -> usize {
        ((offset - self.ground.area.start) / self.slot_len) as usize
    }

    /// The slot for memory of malloc's, and the address that its first offset is for.
    pub fn slot_for(&self, owned: &Owned) -> Option<(usize, usize)> {
        match owned {
            Owned::Heap { start } => Some((0, *start)),
            Owned::Chunk(chunk) => {
                let chunks = || self.slots.iter().skip(1);
                let slot = chunks().position(|base| *base == Some(chunk.start));
                let slot = 1 + slot.or_else(|| chunks().position(Option::is_none))?;
                ((chunk.len() as u64) < self.slot_len / 2).then_some((slot, chunk.start))
            }
        }
    }

    /// Whether any of these pages is promoted.
    pub fn holds_any(&self, pages: &Range<usize>) -> bool {
        let Ok(promoted) = self.ground.promoted() else { return true };
        promoted.iter().any(|vma| vma.start < pages.end && pages.start < vma.end)
    }

    /// What of the range is private yet. Refuses what is neither plain nor promoted.
    pub fn private_pieces(
        &self, range: &Range<usize>, offset: impl Fn(usize) -> u64,
    ) -> Result<Vec<Range<usize>>, Refusal> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let vma = self.ground.maps.at(at).ok_or(Refusal::NotMallocs)?;
            let piece = at..vma.end.min(range.end);
            at = piece.end;
            if vma.is_plain() {
                pieces.push(piece);
            } else if !vma.is_shared(self.ground.file.id)
                || vma.offset + (piece.start - vma.start) as u64 != offset(piece.start)
            {
                return Err(Refusal::Shared);
            }
        }
        Ok(pieces)
    }

    /// The conditions on the memory itself.
    pub fn check_memory(
        &self, range: &Range<usize>, private: &[Range<usize>], promoted: u64, processes: u32,
    ) -> Result<(), Refusal> {
        let maps = &self.ground.maps;
        flags::check(range, |start| maps.at(start).is_some_and(|vma| vma.is_shared(self.ground.file.id)))?;
        for piece in private {
            if self.ground.huge.are_among(piece.clone()).unwrap_or(true) {
                return Err(Refusal::Huge);
            }
            if !process::has_no_policy(piece.start) {
                return Err(Refusal::Policy);
            }
        }
        let bytes = private.iter().map(Range::len).sum();
        if process::has_memory(bytes, promoted, processes) { Ok(()) } else { Err(Refusal::Memory) }
    }

    /// Gives back the memory that is mapped nowhere, of the heap and of chunks, unless some transfer is
    /// `busy`: then later, and it says true. Follows the chunks that were moved.
    pub fn give_back(&mut self, mapped: &[Vma], busy: bool) -> bool {
        let mut owes = false;
        let unused = if busy { Vec::new() } else { std::mem::take(&mut self.unused) };
        for offsets in unused {
            for hole in holes(&offsets, mapped) {
                self.punch(hole.start, hole.end - hole.start);
            }
        }
        for slot in 1..self.slots.len() {
            if self.slots[slot].is_none() {
                continue;
            }
            let offset = self.offset_of(slot);
            match mapped.iter().find(|vma| self.slot_of(vma.offset) == slot) {
                Some(vma) => self.slots[slot] = vma.start.checked_sub((vma.offset - offset) as usize),
                None if busy => owes = true,
                // Where the hole cannot be made, the slot is not used again.
                None if self.punch(offset, self.slot_len) => self.slots[slot] = None,
                None => self.slots[slot] = Some(0),
            }
        }
        owes || !self.unused.is_empty()
    }

    /// Gives the memory of offsets back; they read as zeros then.
    fn punch(&self, offset: u64, len: u64) -> bool {
        self.ground.file.open().is_some_and(|file| crate::file::punch(file, offset, len).is_ok())
    }
}

/// The parts of `offsets` that are mapped nowhere.
fn holes(offsets: &Range<u64>, mapped: &[Vma]) -> Vec<Range<u64>> {
    let mut taken: Vec<_> = mapped.iter().map(|vma| vma.offset..vma.offset + (vma.end - vma.start) as u64).collect();
    taken.sort_unstable_by_key(|range| range.start);
    let mut holes = Vec::new();
    let mut at = offsets.start;
    for range in taken {
        if range.start.min(offsets.end) > at {
            holes.push(at..range.start.min(offsets.end));
        }
        at = at.max(range.end);
    }
    if at < offsets.end {
        holes.push(at..offsets.end);
    }
    holes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fit_their_area() {
        for area in AREAS.map(|bits| 1u64 << bits) {
            let (slots, len) = divide(area);
            assert!(slots >= 2, "the heap and a chunk");
            assert!(slots <= MOST_SLOTS && slots * len <= area && len >= LEAST_SLOT - VIEW);
            assert!((len / VIEW) % 2 == 1 && len.is_multiple_of(VIEW));
        }
        assert!(divide(1 << 55).1 > (1 << 47) - (1 << 30), "all that can be mapped");
    }
}
