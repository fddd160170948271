//! The regions that this process has declared.

use super::layout::{PIECES, Piece, REGIONS};
use super::shared::{Shared, lock};
use super::table::About;
use super::transfer::local_pieces;
use super::{Cookie, Error, Flags, Protection};
use crate::cma::Run;
use crate::offsets::Offsets;
use std::collections::{BTreeMap, VecDeque};

/// The owner's books.
pub struct Regions {
    /// Slots that had a region, the longest free first.
    free: VecDeque<u32>,
    /// The first slot that never had one.
    fresh: u32,
    /// By slot: the regions that were not destroyed, and where their lists begin.
    known: BTreeMap<u32, (Cookie, u64)>,
    /// Those for a single use, the oldest first.
    singles: VecDeque<Cookie>,
    /// What is free of this member's list of pieces.
    lists: Offsets,
}

impl Default for Regions {
    fn default() -> Regions {
        Regions {
            free: VecDeque::new(),
            fresh: 0,
            known: BTreeMap::new(),
            singles: VecDeque::new(),
            lists: Offsets::new(0, PIECES as u64),
        }
    }
}

impl Regions {
    /// Declares memory under a new name.
    pub fn create(
        &mut self, shared: &Shared, segments: &[Run], protection: Protection, flags: Flags,
    ) -> Result<Cookie, Error> {
        self.reclaim(shared, 2);
        let too_long = Error::Bounds { offset: 0, bytes: u64::MAX, len: u64::MAX };
        let (pieces, len) = local_pieces(segments).ok_or(too_long)?;
        let mut first = self.lists.take(pieces.len().max(1) as u64, 1);
        if first.is_none() {
            self.reclaim(shared, self.singles.len());
            first = self.lists.take(pieces.len().max(1) as u64, 1);
        }
        let first = first.ok_or(Error::Full)?;
        let Some(slot) = self.take_slot(shared) else {
            self.lists.give(first);
            return Err(Error::Full);
        };
        write_list(shared, first, &pieces);
        let about = About { len, access: protection.bits(), pieces: pieces.len() as u32, first };
        let Some((slot_at, generation)) =
            shared.tables.slot(shared.me, slot).and_then(|slot| Some((slot, slot.next_generation()?)))
        else {
            return Err(Error::Full);
        };
        let cookie = Cookie::new(shared.me, slot, generation);
        slot_at.open(cookie, about, flags.contains(Flags::SINGLE_USE));
        self.known.insert(slot, (cookie, first));
        if flags.contains(Flags::SINGLE_USE) {
            self.singles.push_back(cookie);
        }
        Ok(cookie)
    }

    fn take_slot(&mut self, shared: &Shared) -> Option<u32> {
        if (self.fresh as usize) < REGIONS {
            self.fresh += 1;
            return Some(self.fresh - 1);
        }
        if self.free.is_empty() {
            self.reclaim(shared, self.singles.len());
        }
        self.free.pop_front()
    }

    /// Looks at the `count` oldest regions for a single use, and takes back those that are used up.
    fn reclaim(&mut self, shared: &Shared, count: usize) {
        for _ in 0..count.min(self.singles.len()) {
            let Some(cookie) = self.singles.pop_front() else { return };
            let known = self.known.get(&cookie.slot()).is_some_and(|(known, _)| *known == cookie);
            let slot = shared.tables.slot(shared.me, cookie.slot()).filter(|_| known);
            let Some(slot) = slot else { continue };
            if slot.is_used(cookie) && !shared.is_held(cookie) {
                self.forget(shared, cookie);
            } else {
                self.singles.push_back(cookie);
            }
        }
    }

    /// Makes slot and list free; nobody uses the region, and nobody can.
    pub fn forget(&mut self, shared: &Shared, cookie: Cookie) {
        if let Some((_, first)) = self.known.remove(&cookie.slot()) {
            self.lists.give(first);
            shared.tables.slot(shared.me, cookie.slot()).inspect(|slot| slot.free(cookie));
            self.free.push_back(cookie.slot());
        }
    }

    /// All that were not destroyed.
    pub fn all(&self) -> Vec<Cookie> {
        self.known.values().map(|(cookie, _)| *cookie).collect()
    }
}

fn write_list(shared: &Shared, first: u64, pieces: &[Piece]) {
    let heap = lock(&shared.heap);
    let list = shared.tables.pieces(shared.me);
    for (index, piece) in pieces.iter().enumerate() {
        let place = heap.place(piece.address as *const u8, piece.len as usize).map_or(0, |place| place.0);
        // SAFETY: this part of the list was free, so that nobody else looks at it; it has room.
        unsafe { list.add(first as usize + index).write(Piece { place, ..*piece }) };
    }
}
