//! Entries in queues by pattern, the queues in a hash table that grows with their number. Nothing that is done with
//! one entry depends on how many there are.

use crate::{Pattern, Places};
use std::mem::offset_of;

/// No entry.
pub const NONE: u32 = u32::MAX;

/// Buckets of a table that is small, as a power of two.
const BITS: u32 = 7;
/// Entries for which an empty table keeps its memory.
const KEPT: usize = 1024;

/// A hash table of queues in one array; entries keep their index while they live.
#[derive(Clone, Debug)]
pub struct Table {
    entries: Vec<Entry>,
    free: u32,
    /// By hash: the first entry of a queue. Those of one bucket are chained.
    buckets: Vec<u32>,
    /// Bits of a hash that do not name its bucket.
    shift: u32,
    queues: usize,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Pattern,
    /// What the caller knows this entry by.
    pub id: u32,
    /// Age: smaller is older.
    pub sequence: u64,
    hash: u32,
    /// In the queue.
    next: u32,
    pub previous: u32,
    /// Of the first of a queue: the last one, and the first of the next queue in the bucket.
    last: u32,
    chain: u32,
    /// A receive that its sender can see.
    pub published: bool,
}

/// The entry at an index, if there is one.
#[inline]
fn there(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}

#[inline]
fn hash(key: &Pattern) -> u32 {
    let mixed = (key.context as u64) << 40 ^ (key.source as u32 as u64) << 20 ^ key.tag as u32 as u64;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

impl Table {
    pub fn new() -> Table {
        let buckets = vec![NONE; 1 << BITS];
        Table { entries: Vec::new(), free: NONE, buckets, shift: u32::BITS - BITS, queues: 0 }
    }

    #[inline]
    pub fn entry(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }

    #[inline]
    pub fn entry_mut(&mut self, index: u32) -> &mut Entry {
        &mut self.entries[index as usize]
    }

    /// Adds an entry behind all of its pattern.
    #[inline]
    pub fn push(&mut self, key: Pattern, id: u32, sequence: u64) -> u32 {
        let hash = hash(&key);
        let entry =
            Entry { key, id, sequence, hash, next: NONE, previous: NONE, last: NONE, chain: NONE, published: false };
        let index = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.entry(index).next;
            *self.entry_mut(index) = entry;
            index
        };
        let bucket = (hash >> self.shift) as usize;
        let first = self.buckets[bucket];
        if first == NONE {
            self.entry_mut(index).last = index;
            self.buckets[bucket] = index;
            self.queues += 1;
        } else {
            self.push_beside(first, index);
        }
        index
    }

    /// Puts an entry into a bucket that begins with the queue of `first`.
    #[inline(never)]
    fn push_beside(&mut self, first: u32, index: u32) {
        let Entry { key, hash, .. } = *self.entry(index);
        if let Some(head) = self.find(first, &key) {
            let last = std::mem::replace(&mut self.entry_mut(head).last, index);
            self.entry_mut(last).next = index;
            self.entry_mut(index).previous = last;
            return;
        }
        let entry = self.entry_mut(index);
        (entry.last, entry.chain) = (index, first);
        self.buckets[(hash >> self.shift) as usize] = index;
        self.queues += 1;
        if self.queues > self.buckets.len() {
            self.grow();
        }
    }

    /// Doubles the buckets.
    #[cold]
    fn grow(&mut self) {
        self.shift -= 1;
        let buckets = vec![NONE; self.buckets.len() * 2];
        for mut at in std::mem::replace(&mut self.buckets, buckets) {
            while at != NONE {
                let bucket = (self.entry(at).hash >> self.shift) as usize;
                let first = std::mem::replace(&mut self.buckets[bucket], at);
                at = std::mem::replace(&mut self.entry_mut(at).chain, first);
            }
        }
    }

    /// The first of the queue of `key` among those chained from `at` on.
    #[inline]
    fn find(&self, mut at: u32, key: &Pattern) -> Option<u32> {
        while at != NONE {
            let entry = self.entry(at);
            if entry.key == *key {
                return Some(at);
            }
            at = entry.chain;
        }
        None
    }

    /// Where its queues are, for a debugger: by way of the buckets, for entries that are free keep what they had.
    pub fn put_places(&self, name: &str, places: &mut Places) {
        places.put_vec(&format!("{name}.entries"), &self.entries);
        places.put_vec(&format!("{name}.buckets"), &self.buckets);
    }

    /// How an entry lies.
    pub fn put_entry(places: &mut Places) {
        places.put_fields(
            "entry",
            &[
                ("size", size_of::<Entry>()),
                ("context", offset_of!(Entry, key.context)),
                ("source", offset_of!(Entry, key.source)),
                ("tag", offset_of!(Entry, key.tag)),
                ("id", offset_of!(Entry, id)),
                ("sequence", offset_of!(Entry, sequence)),
                ("next", offset_of!(Entry, next)),
                ("chain", offset_of!(Entry, chain)),
                ("published", offset_of!(Entry, published)),
            ],
        );
    }

    /// The oldest entry of `key`.
    #[inline]
    pub fn first(&self, key: &Pattern) -> Option<u32> {
        self.find(self.buckets[(hash(key) >> self.shift) as usize], key)
    }

    /// The youngest entry of `key`.
    pub fn last(&self, key: &Pattern) -> Option<u32> {
        self.first(key).map(|first| self.entry(first).last)
    }

    /// The next younger entry of the same pattern.
    pub fn behind(&self, index: u32) -> Option<u32> {
        there(self.entry(index).next)
    }

    /// The next older entry of the same pattern.
    pub fn before(&self, index: u32) -> Option<u32> {
        there(self.entry(index).previous)
    }

    /// Takes an entry out; returns its id.
    #[inline]
    pub fn remove(&mut self, index: u32) -> u32 {
        let Entry { id, hash, next, previous, last, chain, .. } = *self.entry(index);
        let bucket = (hash >> self.shift) as usize;
        if previous == NONE && next == NONE && self.buckets[bucket] == index {
            self.buckets[bucket] = chain;
            self.end_queue();
        } else if previous == NONE {
            self.remove_first(index, (bucket, next, last, chain));
        } else {
            self.remove_behind(index, previous, next);
        }
        // An empty table may have given up its memory.
        if let Some(entry) = self.entries.get_mut(index as usize) {
            entry.next = self.free;
            self.free = index;
        }
        id
    }

    /// Takes the first out of its queue: the next one takes its place in the bucket, or the next queue.
    #[inline(never)]
    fn remove_first(&mut self, index: u32, (bucket, next, last, chain): (usize, u32, u32, u32)) {
        let with = if next == NONE { chain } else { next };
        if next != NONE {
            let entry = self.entry_mut(next);
            (entry.previous, entry.last, entry.chain) = (NONE, last, chain);
        }
        let mut at = self.buckets[bucket];
        if at == index {
            self.buckets[bucket] = with;
        } else {
            while self.entry(at).chain != index {
                at = self.entry(at).chain;
            }
            self.entry_mut(at).chain = with;
        }
        if next == NONE {
            self.end_queue();
        }
    }

    /// Takes another one out of its queue.
    #[inline(never)]
    fn remove_behind(&mut self, index: u32, previous: u32, next: u32) {
        self.entry_mut(previous).next = next;
        if next != NONE {
            self.entry_mut(next).previous = previous;
        } else if let Some(first) = self.first(&self.entry(index).key) {
            self.entry_mut(first).last = previous;
        }
    }

    #[inline]
    fn end_queue(&mut self) {
        self.queues -= 1;
        if self.queues == 0 && self.entries.len() > KEPT {
            // Nothing is left of what was large.
            *self = Table::new();
        }
    }

    /// True while looking at all queues costs little.
    pub fn is_small(&self) -> bool {
        self.buckets.len() == 1 << BITS && self.queues <= 1 << (BITS - 1)
    }

    /// The first entries of all queues.
    pub fn firsts(&self) -> impl Iterator<Item = u32> + '_ {
        let chain = |&first: &u32| std::iter::successors(there(first), |&at| there(self.entry(at).chain));
        self.buckets.iter().flat_map(chain)
    }

    /// All entries, the oldest first.
    pub fn by_age(&self) -> Vec<u32> {
        let queue = |first| std::iter::successors(Some(first), |&at| self.behind(at));
        let mut all: Vec<u32> = self.firsts().flat_map(queue).collect();
        all.sort_by_key(|&at| self.entry(at).sequence);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of these, and how many queues are looked at in its longest bucket.
    fn longest(keys: impl Iterator<Item = (i32, i32)>) -> (Table, usize) {
        let mut table = Table::new();
        for (id, (source, tag)) in keys.enumerate() {
            table.push(Pattern { context: 7, source, tag }, id as u32, id as u64);
        }
        let length = |&first: &u32| std::iter::successors(there(first), |&at| there(table.entry(at).chain));
        let longest = table.buckets.iter().map(|first| length(first).count()).max().expect("buckets");
        (table, longest)
    }

    #[test]
    fn buckets_stay_short_however_many_queues_there_are() {
        const MANY: i32 = 60_000;
        for stride in [1, 2, 3, 10, 64, 1000, 4096, 32_768] {
            let (_, longest) = longest((0..MANY).map(|at| (0, at * stride)));
            assert!(longest <= 12, "tags in steps of {stride}: {longest}");
        }
        let (_, sources) = longest((0..MANY).map(|at| (at, 5)));
        assert!(sources <= 12, "one tag of each source: {sources}");
        let (_, both) = longest((0..MANY).map(|at| (at % 250, at / 250)));
        assert!(both <= 12, "sources and tags: {both}");
    }

    #[test]
    fn an_empty_table_gives_its_memory_back() {
        let (mut table, _) = longest((0..5000).map(|at| (0, at)));
        assert!(!table.is_small() && table.by_age().len() == 5000);
        (0..5000).rev().for_each(|at| assert_eq!(table.remove(at), at));
        assert!(table.is_small() && table.entries.capacity() == 0);
        let at = table.push(Pattern { context: 0, source: 0, tag: 0 }, 3, 0);
        assert_eq!(table.remove(at), 3);
    }
}
