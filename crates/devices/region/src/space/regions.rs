//! The regions that this process has declared.

use super::layout::{PIECES, Piece, REGIONS};
use super::shared::{Shared, lock};
use super::table::About;
use super::transfer::local_pieces;
use super::{Cookie, Error, Flags, Protection};
use crate::cma::Run;
use crate::module::Declared;
use crate::offsets::Offsets;
use std::collections::{BTreeMap, VecDeque};

/// The owner's books.
pub struct Regions {
    /// Slots that had a region, the longest free first.
    free: VecDeque<u32>,
    /// The first slot that never had one.
    fresh: u32,
    /// By slot: the regions that were not destroyed.
    known: BTreeMap<u32, Known>,
    /// Those for a single use, the oldest first.
    singles: VecDeque<Cookie>,
    /// What is free of this member's list of pieces.
    lists: Offsets,
}

struct Known {
    cookie: Cookie,
    /// Where its list begins.
    first: u64,
    /// What the kernel module knows it by, if that has it.
    declared: Option<Declared>,
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
        let private = write_list(shared, first, &pieces);
        let Some((slot_at, generation)) =
            shared.tables.slot(shared.me, slot).and_then(|slot| Some((slot, slot.next_generation()?)))
        else {
            return Err(Error::Full);
        };
        // A region that is not for the module, or that it does not take (RLIMIT_MEMLOCK), is reached in other ways.
        let module = shared.module.as_ref().filter(|_| private);
        let declared = module.and_then(|module| module.create(segments, protection.bits()).ok());
        let module = declared.map_or(0, |declared| declared.cookie);
        let about = About { len, access: protection.bits(), pieces: pieces.len() as u32, first, module };
        let cookie = Cookie::new(shared.me, slot, generation);
        slot_at.open(cookie, about, flags.contains(Flags::SINGLE_USE));
        self.known.insert(slot, Known { cookie, first, declared });
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
            let known = self.known.get(&cookie.slot()).is_some_and(|known| known.cookie == cookie);
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
        if let Some(known) = self.known.remove(&cookie.slot()) {
            if let Some((module, declared)) = shared.module.as_ref().zip(known.declared) {
                module.destroy(declared);
            }
            self.lists.give(known.first);
            shared.tables.slot(shared.me, cookie.slot()).inspect(|slot| slot.free(cookie));
            self.free.push_back(cookie.slot());
        }
    }

    /// All that were not destroyed.
    pub fn all(&self) -> Vec<Cookie> {
        self.known.values().map(|known| known.cookie).collect()
    }
}

/// Writes down where a region lies; true when some of it is private memory.
fn write_list(shared: &Shared, first: u64, pieces: &[Piece]) -> bool {
    let mut private = false;
    let heap = lock(&shared.heap);
    let list = shared.tables.pieces(shared.me);
    for (index, piece) in pieces.iter().enumerate() {
        let place = heap.place(piece.address as *const u8, piece.len as usize).map_or(0, |place| place.0);
        private |= place == 0;
        // SAFETY: this part of the list was free, so that nobody else looks at it; it has room.
        unsafe { list.add(first as usize + index).write(Piece { place, ..*piece }) };
    }
    private
}
