//! Which registrations are kept. No system calls: what is to be done outside is told by [`Work`].
//!
//! The listed registrations are intervals of addresses none of which contains another: then their
//! order by first byte is their order by last byte too, and the one that begins last at or before an
//! address reaches farthest of all that do. So a look-up is one step in a tree, although intervals
//! overlap, and those that an unmapping touches are neighbours.
//!
//! Intervals are not merged. A merged one would pin what no transfer has asked for, would go as a
//! whole when any page of it goes, and could not replace its parts while these are in use anyway.
//! An interval that contains others replaces them: they leave the list, and end with their last use.

use std::collections::BTreeMap;

/// How much is kept that no transfer uses. What is in use counts, but is never refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub bytes: u64,
    pub entries: usize,
}

/// Registrations that are kept at most: each may cut a mapping of the process in three, of which the kernel
/// allows 65530.
const ENTRIES: usize = 8192;

impl Limits {
    /// So many bytes, in as many registrations as a process should have; none for 0.
    pub fn keeping(bytes: u64) -> Limits {
        Limits { bytes, entries: if bytes > 0 { ENTRIES } else { 0 } }
    }
}

/// One use of a registration, until [`Cache::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use(pub u32);

/// What is left to do after a call.
#[derive(Debug)]
pub struct Work<R> {
    /// These are over: to be deregistered.
    pub ended: Vec<R>,
    /// Addresses, first and past the last, that no listed registration covers any more.
    pub uncovered: Vec<(u64, u64)>,
}

impl<R> Work<R> {
    pub fn is_empty(&self) -> bool {
        self.ended.is_empty() && self.uncovered.is_empty()
    }
}

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Entry<R> {
    start: u64,
    end: u64,
    region: R,
    uses: u32,
    /// It may be found. Otherwise it ends with its last use.
    listed: bool,
    /// Neighbours in the order of last use, of those that nobody uses.
    older: u32,
    newer: u32,
}

/// Registrations `R` by address.
#[derive(Debug)]
pub struct Cache<R> {
    limits: Limits,
    entries: Vec<Option<Entry<R>>>,
    free: Vec<u32>,
    /// The listed ones by first address.
    index: BTreeMap<u64, u32>,
    oldest: u32,
    newest: u32,
    /// Of all that live, listed or not.
    bytes: u64,
    work: Work<R>,
}

impl<R> Cache<R> {
    pub fn new(limits: Limits) -> Cache<R> {
        Cache {
            limits,
            entries: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            oldest: NONE,
            newest: NONE,
            bytes: 0,
            work: Work { ended: Vec::new(), uncovered: Vec::new() },
        }
    }

    /// Bytes of all registrations that live; what overlaps counts twice.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Registrations that live.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the calls since the last [`Cache::work`] have left to do.
    pub fn work(&mut self) -> Work<R> {
        std::mem::replace(&mut self.work, Work { ended: Vec::new(), uncovered: Vec::new() })
    }

    /// True when [`Cache::work`] would give something.
    pub fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// The registration of a use.
    ///
    /// Panics when the use has been released and nobody else has one.
    pub fn get(&self, it: Use) -> &R {
        &self.entry(it.0).region
    }

    /// Uses a registration that holds all of `start..end`, if there is one.
    pub fn find(&mut self, start: u64, end: u64) -> Option<Use> {
        let (_, &at) = self.index.range(..=start).next_back()?;
        if self.entry(at).end < end {
            return None;
        }
        if self.entry(at).uses == 0 {
            self.unlink(at);
        }
        self.entry_mut(at).uses += 1;
        Some(Use(at))
    }

    /// Adds a registration of `start..end` that [`Cache::find`] has not found, with one use. Without
    /// `keep` nobody else finds it, and it ends with that use.
    pub fn insert(&mut self, start: u64, end: u64, region: R, keep: bool) -> Use {
        debug_assert!(start < end, "a registration of something");
        let entry = Entry { start, end, region, uses: 1, listed: keep, older: NONE, newer: NONE };
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.entries.push(None);
                self.entries.len() as u32 - 1
            }
        };
        self.entries[at as usize] = Some(entry);
        self.bytes += end - start;
        if keep {
            // Those that begin inside come first; they are contained as long as they end inside.
            while let Some((&inner, &other)) = self.index.range(start..end).next()
                && self.entry(other).end <= end
            {
                self.index.remove(&inner);
                self.retire(other);
            }
            debug_assert!(!self.index.contains_key(&start), "it would contain this one");
            self.index.insert(start, at);
        }
        self.shrink();
        Use(at)
    }

    /// Ends one use.
    pub fn release(&mut self, it: Use) {
        let entry = self.entry_mut(it.0);
        entry.uses -= 1;
        if entry.uses > 0 {
            return;
        }
        if entry.listed {
            self.link(it.0);
            self.shrink();
        } else {
            self.end(it.0);
        }
    }

    /// The memory `start..end` is not what it was: what touches it is not found any more.
    pub fn invalidate(&mut self, start: u64, end: u64) {
        while let Some((_, &at)) = self.index.range(..end).next_back()
            && self.entry(at).end > start
        {
            // Its neighbours below may touch too: they are next.
            self.unlist(at);
        }
    }

    /// All memory may have changed.
    pub fn invalidate_all(&mut self) {
        self.invalidate(0, u64::MAX);
    }

    /// Ends the least recently used of those that nobody uses; false when there is none.
    pub fn evict(&mut self) -> bool {
        let at = self.oldest;
        if at == NONE {
            return false;
        }
        self.unlist(at);
        true
    }

    /// Gives everything up without a word, as the child of a fork must: what is registered is its parent's.
    pub fn forget(&mut self) {
        std::mem::take(&mut self.entries).into_iter().flatten().for_each(|entry| std::mem::forget(entry.region));
        std::mem::take(&mut self.work.ended).into_iter().for_each(std::mem::forget);
        *self = Cache::new(self.limits);
    }

    fn entry(&self, at: u32) -> &Entry<R> {
        self.entries[at as usize].as_ref().expect("a live registration")
    }

    fn entry_mut(&mut self, at: u32) -> &mut Entry<R> {
        self.entries[at as usize].as_mut().expect("a live registration")
    }

    /// Keeps within the limits what nobody uses.
    fn shrink(&mut self) {
        while (self.bytes > self.limits.bytes || self.len() > self.limits.entries) && self.evict() {}
    }

    /// Takes an entry out of the list, and tells which of its addresses no other covers.
    fn unlist(&mut self, at: u32) {
        let Entry { start, end, .. } = *self.entry(at);
        self.index.remove(&start);
        let before = self.index.range(..start).next_back().map_or(0, |(_, &other)| self.entry(other).end);
        let after = self.index.range(start..).next().map_or(u64::MAX, |(&start, _)| start);
        let (from, to) = (start.max(before), end.min(after));
        if from < to {
            self.work.uncovered.push((from, to));
        }
        self.retire(at);
    }

    /// An entry that is in no list any more ends now or with its last use.
    fn retire(&mut self, at: u32) {
        let entry = self.entry_mut(at);
        entry.listed = false;
        if entry.uses == 0 {
            self.unlink(at);
            self.end(at);
        }
    }

    fn end(&mut self, at: u32) {
        let entry = self.entries[at as usize].take().expect("a live registration");
        self.free.push(at);
        self.bytes -= entry.end - entry.start;
        self.work.ended.push(entry.region);
    }

    /// Puts an entry that nobody uses last in the order of use.
    fn link(&mut self, at: u32) {
        let older = std::mem::replace(&mut self.newest, at);
        match older {
            NONE => self.oldest = at,
            _ => self.entry_mut(older).newer = at,
        }
        let entry = self.entry_mut(at);
        (entry.older, entry.newer) = (older, NONE);
    }

    fn unlink(&mut self, at: u32) {
        let Entry { older, newer, .. } = *self.entry(at);
        match older {
            NONE => self.oldest = newer,
            _ => self.entry_mut(older).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.entry_mut(newer).older = older,
        }
    }
}

#[cfg(test)]
mod tests;
