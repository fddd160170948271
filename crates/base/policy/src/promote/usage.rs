//! Which buffers are used often: counts per buffer in a table that does not grow.
//!
//! The table keeps, in each of its sets, the buffers that are used most, in the manner of Misra and
//! Gries ("Finding repeated elements", 1982): a buffer that finds its set full takes one off every
//! count there, and a place that has come to zero. So buffers that are used once each push each
//! other out, and a buffer that has more than one use in `WAYS + 1` of those of its set stays.

use crate::costs::Warmth;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Buffers of one set.
pub const WAYS: usize = 8;
const SETS: usize = 64;
/// A buffer that was promoted in vain, or could not be, waits up to 2^MOST_PATIENCE times as long.
const MOST_PATIENCE: u8 = 16;

#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    /// Uses since the last attempt; never more than there were. 0: a free place.
    count: u32,
    patience: u8,
    /// Bytes, as of its last use.
    len: usize,
    /// What [`Usage::passed`] was then.
    last: u64,
}

/// Buffers that lie side by side, none further from the next than a page is long.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// Address of the first.
    pub start: usize,
    /// Bytes from there to the end of the last.
    pub len: usize,
    /// Uses of all of them.
    pub uses: u64,
    /// Attempts in vain to promote the row make it wait: so many times as long.
    pub patience: u32,
}

/// At every so many uses of a buffer its neighbours are looked at, later at every eighth part of them or so.
const GLANCE: u32 = 8;
/// Longest memory of which one message has but a part, in bytes: what is promoted keeps the program waiting, then and when it forks.
const LONGEST: usize = 32 << 20;

/// Whether memory of `len` bytes may be promoted for messages that have `moved` of them: a matrix for its columns only if it is no longer
/// than [`LONGEST`], which takes some thirty milliseconds.
pub fn is_short(len: usize, moved: usize) -> bool {
    moved >= len / 4 || len <= LONGEST
}

/// The uses of buffers, by address and class of length (the next power of two).
pub struct Usage {
    sets: Box<[[Entry; WAYS]; SETS]>,
    /// Bytes of all uses.
    passed: u64,
}

impl Usage {
    pub fn new() -> Usage {
        Usage { sets: Box::new([[Entry::default(); WAYS]; SETS]), passed: 0 }
    }

    /// Whether this buffer, which is about to be used again, is in a cache still. `is_late`: whether so many bytes, used in between, have driven it
    /// out of the caches.
    pub fn warmth(&self, address: usize, len: usize, is_late: impl FnOnce(u64) -> bool) -> Warmth {
        match self.find(key(address, len)) {
            Some(entry) if is_late(self.passed - entry.last) => Warmth::Cold,
            _ => Warmth::Warm,
        }
    }

    /// Counts one use, by a message that has `moved` bytes of the buffer. True when there were `needed` uses of this buffer since it came into the
    /// table or was last tried, more if earlier tries were in vain. The caller then tries, and
    /// reports with [`Usage::failed`] if that was in vain; the count starts again.
    pub fn used(&mut self, address: usize, len: usize, moved: usize, needed: u32) -> bool {
        let key = key(address, len);
        self.passed += moved as u64;
        let passed = self.passed;
        let Some(entry) = self.place(key) else {
            // Nothing is known of the buffer, but this use is one.
            return needed <= 1;
        };
        entry.count = entry.count.saturating_add(1);
        (entry.len, entry.last) = (len, passed);
        let needed = u64::from(needed) << entry.patience;
        let due = u64::from(entry.count) >= needed;
        if due {
            entry.count = 1;
        }
        due
    }

    /// The row that this buffer stands in, with others of its class of length that are used at least half as often; now and
    /// then only, and none if it stands alone. `page`: bytes of one.
    pub fn row(&self, address: usize, len: usize, page: usize) -> Option<Row> {
        let own = *self.find(key(address, len))?;
        let step = GLANCE.max((1 << own.count.ilog2()) / 8);
        if !own.count.is_multiple_of(step) {
            return None;
        }
        let alike = |entry: &&Entry| class(entry.key) == class(own.key) && entry.count >= own.count / 2;
        let mut all: Vec<(usize, usize, u32)> =
            self.sets.iter().flatten().filter(alike).map(|entry| (start(entry.key), entry.len, entry.count)).collect();
        all.sort_unstable();
        let touches = |one: &(usize, usize, u32), next: &(usize, usize, u32)| next.0 <= one.0 + one.1 + page;
        let row = all.chunk_by(touches).find(|row| row.iter().any(|one| one.0 == address))?;
        let (first, end) = (row.first()?.0, row.iter().map(|(start, len, _)| start + len).max()?);
        let uses = row.iter().map(|(_, _, count)| u64::from(*count)).sum();
        let patience = self.find(key(first, end - first)).map_or(0, |entry| u32::from(entry.patience));
        (row.len() > 1 && end - first <= LONGEST).then(|| Row {
            start: first,
            len: end - first,
            uses,
            patience: 1 << patience,
        })
    }

    /// The buffers of a row were promoted: their counts start again.
    pub fn restart(&mut self, row: &Row) {
        let range = row.start..row.start + row.len;
        for entry in self.sets.iter_mut().flatten() {
            if entry.count > 0 && range.contains(&start(entry.key)) {
                entry.count = 1;
            }
        }
    }

    /// The attempt was in vain, or what it won was lost before it paid: wait twice as long.
    pub fn failed(&mut self, address: usize, len: usize) {
        if let Some(entry) = self.place(key(address, len)) {
            entry.count = entry.count.max(1);
            entry.patience = (entry.patience + 1).min(MOST_PATIENCE);
        }
    }

    /// What the last attempt won has paid: wait no longer than the rule says.
    pub fn paid(&mut self, address: usize, len: usize) {
        if let Some(entry) = self.place(key(address, len)) {
            entry.count = entry.count.max(1);
            entry.patience = 0;
        }
    }

    fn find(&self, key: u64) -> Option<&Entry> {
        self.sets[set(key)].iter().find(|entry| entry.key == key && entry.count > 0)
    }

    /// The place of `key`, new if need be; `None` if the others of its set are used more.
    fn place(&mut self, key: u64) -> Option<&mut Entry> {
        let set = &mut self.sets[set(key)];
        if let Some(way) = set.iter().position(|entry| entry.key == key && entry.count > 0) {
            return Some(&mut set[way]);
        }
        if set.iter().all(|entry| entry.count > 0) {
            for entry in set.iter_mut() {
                entry.count -= 1;
            }
            return None;
        }
        let free = set.iter_mut().find(|entry| entry.count == 0)?;
        *free = Entry { key, ..Entry::default() };
        Some(free)
    }
}

/// The set that `key` belongs to.
fn set(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
}

/// Never the same for two buffers of different addresses: addresses have at most 57 bits.
fn key(address: usize, len: usize) -> u64 {
    let class = usize::BITS - len.saturating_sub(1).leading_zeros();
    (address as u64) << 7 | u64::from(class)
}

fn start(key: u64) -> usize {
    (key >> 7) as usize
}

fn class(key: u64) -> u64 {
    key & 0x7f
}

#[cfg(test)]
mod tests;
