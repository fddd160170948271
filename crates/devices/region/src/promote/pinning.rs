//! Promotion of memory that peers will be at any time.

use super::owner::Owned;
use super::{Place, Policy, Promoter, whole_pages};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// Fewest pages of malloc's heap that are pinned: for less it is not worth the time.
const FEWEST_PINNED: usize = 4;

impl Promoter {
    /// Promotes memory that peers will be at any time, whenever they like, until [`Promoter::unpin`]: it stays at its place,
    /// also when a program with several threads forks. Tells what of it that is, and where it lies; `None`: all of it is private.
    ///
    /// All of a chunk of malloc's with a mapping of its own; of memory in malloc's heap the pages that hold nothing else: with several threads
    /// the child of a fork could write to others before it has its own.
    ///
    /// The program keeps that memory mapped meanwhile.
    pub fn pin(&mut self, address: *const u8, len: usize) -> Option<(Range<usize>, Place)> {
        if self.policy == Policy::Off || len == 0 || self.is_over() {
            return None;
        }
        let range = self.pinnable(address.addr(), len)?;
        let (start, len) = (range.start, range.len());
        let pages = whole_pages(start, len)?;
        // Before anything is promoted: what cannot be pinned would be promoted for nothing.
        if !self.ready.as_ref()?.ground.pins.add(&pages) {
            return None;
        }
        // A full fence: pairs with the one in `freeze`. A fork in another thread sees the pin, or has ended promotion.
        fence(Ordering::SeqCst);
        let first = std::ptr::with_exposed_provenance(start);
        let speculative = self.speculative_place(first, len);
        let place = speculative.filter(|&place| self.verify(first, len, place));
        let Some(place) = place.or_else(|| self.promote_to_pin(start, len)) else {
            self.unpin(&range);
            return None;
        };
        Some((range, place))
    }

    fn promote_to_pin(&mut self, start: usize, len: usize) -> Option<Place> {
        let due = self.uses.pinned(start, len)?;
        let place = self.try_promote(&due)?;
        self.uses.promoted(&due);
        Some(place)
    }

    /// What of these bytes can be pinned.
    fn pinnable(&mut self, start: usize, len: usize) -> Option<Range<usize>> {
        self.get_ready().ok()?;
        let ready = self.ready.as_ref()?;
        let pages = whole_pages(start, len)?;
        match ready.malloc.find(&ready.ground.maps, &pages, ready.ground.file.id).ok()? {
            Owned::Chunk(_) => Some(start..start + len),
            Owned::Heap { .. } => {
                let page = rustix::param::page_size();
                // A page at the edge that is pinned already holds only memory of that kind, too.
                let pins = &ready.ground.pins;
                let is_pinned = |at: usize| pins.holds(&(at..at + page));
                let last = pages.end - page;
                let from = if is_pinned(pages.start) { start } else { start.checked_next_multiple_of(page)? };
                let to = if is_pinned(last) { start + len } else { (start + len) & !(page - 1) };
                (from < to && (to - from >= FEWEST_PINNED * page || pins.holds(&pages))).then_some(from..to)
            }
        }
    }

    /// To be called before peers may be at these bytes by the kernel, whenever they like. If some of their pages are promoted, nothing
    /// that is promoted is frozen any more by forks of a process with several threads: what peers write meanwhile would be lost.
    pub fn settle(&mut self, address: *const u8, len: usize) {
        let Some(ready) = &self.ready else { return };
        if let Some(pages) = whole_pages(address.addr(), len)
            && ready.holds_any(&pages)
        {
            ready.ground.keep_all();
        }
    }

    /// Ends what [`Promoter::pin`] began, with what it told.
    pub fn unpin(&mut self, range: &Range<usize>) {
        if let (Some(ready), Some(pages)) = (&self.ready, whole_pages(range.start, range.len())) {
            ready.ground.pins.remove(&pages);
        }
    }
}
