//! How a sender finds a receive in its table, and makes it its own.

use super::entry::{ENTRY, Entry, begins};
use super::{Claim, Layout, reaches};
use crate::{Found, Key};

/// A published receive that a message may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Its place in the table.
    pub slot: u32,
    /// What its owner has published.
    pub entry: Entry,
    /// The receiver has taken the stream as far as the message needs.
    usable: bool,
}

/// A look for the oldest receive of a key, word by word. The table may change between any two steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    layout: Layout,
    key: Key,
    last: u32,
    /// The slot to look at next; `None`: the head.
    at: Option<u32>,
    head: u64,
    oldest: Option<Candidate>,
    /// What the look before this one has found.
    before: Option<Candidate>,
}

impl Search {
    /// For a message of `key` whose receiver must have taken the stream up to number `last`.
    pub fn new(layout: Layout, key: &Key, last: u32) -> Search {
        Search { layout, key: *key, last, at: None, head: 0, oldest: None, before: None }
    }

    /// Looks at the next slot; at the end tells what was found. `load` reads a word, after those that it has read before.
    #[inline]
    pub fn step(&mut self, load: impl Fn(usize) -> u64) -> Option<Option<Candidate>> {
        let Some(slot) = self.at else {
            // Before the entries: none of them is older than this.
            self.head = load(self.layout.head());
            self.at = Some(0);
            return None;
        };
        self.at = Some(slot + 1);
        let at = self.layout.entry(slot);
        let more = (slot as usize) < self.layout.slots() && load(at + ENTRY - 1) != 0;
        if more {
            if load(at) == begins(&self.key) {
                self.consider(slot, load);
            }
            return None;
        }
        let Some(oldest) = self.oldest.take() else { return Some(None) };
        // A younger receive may lie in front of an older one that landed meanwhile. Whatever is older than one
        // that was found is seen by the next look.
        if self.before.is_some_and(|before| (before.slot, before.entry.order) == (oldest.slot, oldest.entry.order)) {
            return Some(oldest.usable.then_some(oldest));
        }
        self.before = Some(oldest);
        self.at = None;
        None
    }

    fn consider(&mut self, slot: u32, load: impl Fn(usize) -> u64) {
        let at = self.layout.entry(slot);
        let words = std::array::from_fn(|word| load(at + word));
        let Some(entry) = Entry::decode(&words).filter(|entry| entry.key == self.key) else { return };
        let claimed = Claim::of(load(self.layout.claim(slot)), entry.order).is_some();
        let older = self.oldest.is_none_or(|other| reaches(other.entry.order, entry.order));
        let (open, taken) = (self.head >> (32 + slot) & 1 == 1, self.head as u32);
        // Published before the head was written, and gone by then.
        let gone = !open && taken != entry.seen && reaches(taken, entry.seen);
        if claimed || gone || is_asked(self.layout, slot, entry.order, load) || !older {
            return;
        }
        let told = open && reaches(taken, self.last);
        self.oldest = Some(Candidate { slot, entry, usable: told || reaches(entry.seen, self.last) });
    }
}

/// The receiver wants the receive back, or a later one of that slot.
fn is_asked(layout: Layout, slot: u32, order: u32, load: impl Fn(usize) -> u64) -> bool {
    let ask = load(layout.ask(slot)) as u32;
    ask != 0 && reaches(ask, order)
}

/// The oldest receive for `key`, if it may be used.
#[inline]
pub fn find(layout: Layout, key: &Key, last: u32, load: impl Fn(usize) -> u64) -> Option<Candidate> {
    let mut search = Search::new(layout, key, last);
    loop {
        if let Some(found) = search.step(&load) {
            return found;
        }
    }
}

/// The receive that a look has found, if its slot still has it and nobody has claimed it.
#[inline]
pub fn find_again(layout: Layout, found: &Found, load: impl Fn(usize) -> u64) -> Option<Candidate> {
    let at = layout.entry(found.slot);
    let words = std::array::from_fn(|word| load(at + word));
    let entry = Entry::decode(&words).filter(|entry| u64::from(entry.order) == found.stamp)?;
    let claimed = Claim::of(load(layout.claim(found.slot)), entry.order).is_some();
    (!claimed).then_some(Candidate { slot: found.slot, entry, usable: true })
}

/// The first half of a claim: a word, and what to store there. It must be seen by the receiver's reads before
/// [`confirm`] reads: a full fence lies between them.
pub fn try_claim(layout: Layout, found: &Candidate) -> (usize, u64) {
    (layout.claim(found.slot), Claim::Trying.word(found.entry.order))
}

/// The second half: what to store to the same word, and whether the receive is the sender's.
pub fn confirm(layout: Layout, found: &Candidate, load: impl Fn(usize) -> u64) -> (u64, bool) {
    let own = !is_asked(layout, found.slot, found.entry.order, load);
    let claim = if own { Claim::Taken } else { Claim::Declined };
    (claim.word(found.entry.order), own)
}
