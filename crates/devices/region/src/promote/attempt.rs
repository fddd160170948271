//! One attempt to promote.

use super::ground::Ground;
use super::huge::HugePages;
use super::owner::{Malloc, Owned};
use super::ready::{AREAS, Ready, divide};
use super::records::Record;
use super::{MOST_RECORDS, Policy, Promoter, Refusal, pages, process, whole_pages};
use crate::fork::{self, NodeFile};
use crate::heap::Place;
use crate::quiet::Quiet;
use std::ops::Range;
use tern_counters as counters;
use tern_counters::events;
use tern_node::maps::{Maps, Vma};

impl Promoter {
    /// Promotes the buffer, with what must go with it.
    ///
    /// Errors: the condition that does not hold.
    pub(super) fn promote(&mut self, start: usize, len: usize, needed: u32) -> Result<Place, Refusal> {
        self.get_ready()?;
        self.refresh();
        process::check(self.told.descriptor())?;
        if self.policy != Policy::Always {
            self.imports.check()?;
        }
        let ready = self.ready.as_ref().ok_or(Refusal::Kernel)?;
        let wanted = whole_pages(start, len).ok_or(Refusal::NotMallocs)?;
        let owned = ready.malloc.find(&ready.ground.maps, &wanted, ready.ground.file.id)?;
        let range = extent(&owned, wanted);
        if self.in_use.as_ref().is_some_and(|in_use| in_use(range.clone())) {
            return Err(Refusal::InUse);
        }
        let (slot, base) = ready.slot_for(&owned).ok_or(Refusal::File)?;
        let offset = |address: usize| ready.offset_of(slot) + (address - base) as u64;
        let private = ready.private_pieces(&range, offset)?;
        if private.len() + self.records.len() > MOST_RECORDS {
            return Err(Refusal::File);
        }
        ready.check_memory(&range, &private, self.records.bytes(), self.processes)?;
        let mapped = ready.ground.promoted().map_err(|_| Refusal::Kernel)?;
        if private.iter().any(|piece| is_among(offset(piece.start), piece.len(), &mapped)) {
            return Err(Refusal::Moved);
        }
        for piece in &private {
            let _quiet = Quiet::new();
            let mut state = fork::lock();
            state.reserves.prepare();
            // SAFETY: malloc's plain memory in one mapping, by the checks; one thread; no signals; no peer writes there
            // (`in_use`). Between copy and mapping only the stack is written to. The offsets are mapped nowhere, as was seen just
            // now.
            let kept = unsafe { pages::share(piece, self.heap.file(), offset(piece.start))? };
            state.reserves.add(ready.ground.file.id, offset(piece.start), kept, piece.len());
            state.make_room();
        }
        let ready = self.ready.as_mut().ok_or(Refusal::Kernel)?;
        ready.slots[slot] = Some(base);
        let offset = ready.offset_of(slot);
        for piece in private {
            counters::PROMOTED_BYTES.add(piece.len() as u64);
            let offset = offset + (piece.start - base) as u64;
            // Before anybody relies on it.
            self.told.watch(&piece);
            ready.ground.knows_watch(self.told.descriptor());
            self.records.insert(Record { pages: piece, offset, address: start, len, needed, uses: 0 });
        }
        self.counts.promoted += 1;
        counters::PROMOTED.add(1);
        counters::PROMOTED_NOW.set(self.records.bytes());
        events::raise(events::Kind::Promoted, [start as u64, len as u64, 0]);
        let place = Place(offset + (start - base) as u64);
        let address = std::ptr::with_exposed_provenance(start);
        if self.verify(address, len, place) { Ok(place) } else { Err(Refusal::File) }
    }

    /// What has to be found out once in a process.
    pub(super) fn get_ready(&mut self) -> Result<(), Refusal> {
        if let Some(ready) = &self.ready {
            return if ready.ground.is_over() { Err(Refusal::Over) } else { Ok(()) };
        }
        let maps = Maps::open_exact().map_err(|_| Refusal::Kernel)?;
        let huge = HugePages::open().map_err(|_| Refusal::Kernel)?;
        let malloc = Malloc::prove()?;
        process::check(None)?;
        let file = NodeFile::of(self.heap.file()).map_err(|_| Refusal::File)?;
        let page = rustix::param::page_size();
        let reserve = |bits: u32| Some((self.heap.reserve(page, 1 << bits)?, 1u64 << bits));
        let (start, len) = AREAS.into_iter().find_map(reserve).ok_or(Refusal::File)?;
        let (slots, slot_len) = divide(len);
        let ground = Ground::new(maps, huge, file, start..start + slots * slot_len, self.quiesce);
        let ground = ground.install().ok_or(Refusal::Kernel)?;
        self.ready = Some(Ready::new(ground, malloc, slots as usize, slot_len));
        Ok(())
    }
}

/// Whether some of these offsets are mapped.
fn is_among(offset: u64, len: usize, mapped: &[Vma]) -> bool {
    mapped.iter().any(|vma| vma.offset < offset + len as u64 && offset < vma.offset + (vma.end - vma.start) as u64)
}

/// What to promote for those pages: the whole chunk, so that it stays one mapping and realloc can
/// still move it; but only the pages if the chunk is more than twice as large.
fn extent(owned: &Owned, wanted: Range<usize>) -> Range<usize> {
    match owned {
        Owned::Chunk(chunk) if chunk.len() <= 2 * wanted.len() => chunk.clone(),
        _ => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents() {
        let chunk = Owned::Chunk(0..40960);
        assert_eq!(extent(&chunk, 4096..24576), 0..40960, "half of a chunk: all of it");
        assert_eq!(extent(&chunk, 4096..20480), 4096..20480, "less: that alone");
        assert_eq!(extent(&Owned::Heap { start: 0 }, 4096..8192), 4096..8192);
    }
}
