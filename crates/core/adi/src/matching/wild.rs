//! The oldest unexpected message for a receive with wildcards. Where few messages wait, all queues are looked at.
//! Where many do, messages stand in a further table for each kind of wildcards that the program uses.

use super::table::Table;
use crate::{ANY_SOURCE, ANY_TAG, Pattern, Tuple};

/// The patterns with wildcards that match a tuple, by kind.
#[inline]
pub fn patterns(tuple: &Tuple) -> [Pattern; 3] {
    let Tuple { context, source, tag } = *tuple;
    [
        Pattern { context, source: ANY_SOURCE, tag },
        Pattern { context, source, tag: ANY_TAG },
        Pattern { context, source: ANY_SOURCE, tag: ANY_TAG },
    ]
}

/// Which of [`patterns`] a pattern with wildcards is.
#[inline]
pub fn kind(pattern: &Pattern) -> usize {
    match (pattern.source == ANY_SOURCE, pattern.tag == ANY_TAG) {
        (true, false) => 0,
        (false, true) => 1,
        _ => 2,
    }
}

/// Messages by patterns of one kind.
#[derive(Clone, Debug)]
struct Index {
    /// Entries know the message by its place.
    table: Table,
    /// By the place of a message: its entry.
    entries: Vec<u32>,
}

impl Index {
    fn new() -> Index {
        Index { table: Table::new(), entries: Vec::new() }
    }

    fn push(&mut self, pattern: Pattern, place: u32, sequence: u64) {
        let entry = self.table.push(pattern, place, sequence);
        if self.entries.len() <= place as usize {
            self.entries.resize(place as usize + 1, 0);
        }
        self.entries[place as usize] = entry;
    }
}

/// The tables, by kind. One is made when it is first needed, and dropped when no message waits.
#[derive(Clone, Debug, Default)]
pub struct Wild {
    indexes: [Option<Box<Index>>; 3],
    any: bool,
}

impl Wild {
    /// A message is kept at `place`.
    #[inline]
    pub fn keep(&mut self, tuple: &Tuple, place: u32, sequence: u64) {
        if self.any {
            self.keep_in_all(tuple, place, sequence);
        }
    }

    #[inline(never)]
    fn keep_in_all(&mut self, tuple: &Tuple, place: u32, sequence: u64) {
        for (index, pattern) in self.indexes.iter_mut().zip(patterns(tuple)) {
            index.iter_mut().for_each(|index| index.push(pattern, place, sequence));
        }
    }

    /// The message at `place` is taken, and so many are left.
    #[inline]
    pub fn take(&mut self, place: u32, left: usize) {
        if self.any {
            self.take_from_all(place, left);
        }
    }

    #[inline(never)]
    fn take_from_all(&mut self, place: u32, left: usize) {
        if left == 0 {
            return *self = Wild::default();
        }
        for index in self.indexes.iter_mut().flatten() {
            let entry = index.entries[place as usize];
            index.table.remove(entry);
        }
    }

    /// The place of the oldest of `messages` that `pattern`, which is wild, matches.
    pub fn first(&mut self, pattern: &Pattern, messages: &Table) -> Option<u32> {
        let kind = kind(pattern);
        if self.indexes[kind].is_none() && messages.is_small() {
            let found = messages.firsts().filter(|&at| pattern.matches(&messages.entry(at).key.as_tuple()));
            return found.min_by_key(|&at| messages.entry(at).sequence);
        }
        self.any = true;
        let index = self.indexes[kind].get_or_insert_with(|| {
            let mut index = Box::new(Index::new());
            for place in messages.by_age() {
                let entry = messages.entry(place);
                index.push(patterns(&entry.key.as_tuple())[kind], place, entry.sequence);
            }
            index
        });
        index.table.first(pattern).map(|entry| index.table.entry(entry).id)
    }
}
