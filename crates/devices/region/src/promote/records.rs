//! What was promoted, as far as known: bookkeeping without the kernel.

use std::ops::Range;
use tern_node::maps::Vma;

/// One piece of memory that was promoted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub pages: Range<usize>,
    /// Where in the node's file the first page is.
    pub offset: u64,
    /// The buffer that it was promoted for.
    pub address: usize,
    pub len: usize,
    /// Uses that pay for the promotion, and uses since.
    pub needed: u32,
    pub uses: u32,
}

impl Record {
    /// Whether it was used as often as pays for its promotion. `None`: its buffer begins in another piece, which counts the uses.
    pub fn has_paid(&self) -> Option<bool> {
        self.pages.contains(&self.address).then_some(self.uses >= self.needed)
    }
}

/// Records, sorted by address; no two overlap.
#[derive(Default)]
pub struct Records {
    records: Vec<Record>,
}

impl Records {
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.records.iter().map(|record| record.pages.len() as u64).sum()
    }

    /// The pages of each.
    pub fn pieces(&self) -> impl Iterator<Item = &Range<usize>> {
        self.records.iter().map(|record| &record.pages)
    }

    /// `record` must not overlap another.
    pub fn insert(&mut self, record: Record) {
        let index = self.records.partition_point(|one| one.pages.start < record.pages.start);
        self.records.insert(index, record);
    }

    fn index(&self, address: usize) -> Option<usize> {
        let after = self.records.partition_point(|one| one.pages.start <= address);
        let index = after.checked_sub(1)?;
        (address < self.records[index].pages.end).then_some(index)
    }

    /// Where in the file `len` bytes at `address` are, if all of them are promoted, at offsets that
    /// follow each other.
    pub fn place(&self, address: usize, len: usize) -> Option<u64> {
        self.place_from(self.index(address)?, address, len)
    }

    /// The same, and counts one use more of the piece that holds `address`.
    pub fn used(&mut self, address: usize, len: usize) -> Option<u64> {
        let first = self.index(address)?;
        let uses = &mut self.records[first].uses;
        *uses = uses.saturating_add(1);
        self.place_from(first, address, len)
    }

    fn place_from(&self, first: usize, address: usize, len: usize) -> Option<u64> {
        let end = address.checked_add(len)?;
        let record = &self.records[first];
        let offset = record.offset + (address - record.pages.start) as u64;
        let mut reached = record.pages.end;
        for next in &self.records[first + 1..] {
            if reached >= end {
                break;
            }
            if next.pages.start != reached || next.offset != offset + (reached - address) as u64 {
                return None;
            }
            reached = next.pages.end;
        }
        (reached >= end).then_some(offset)
    }

    /// Makes the records agree with what is mapped (promoted mappings, sorted by address). Returns
    /// the pieces that are gone. What is mapped and has no record (a chunk that was moved or has grown) gets
    /// one.
    pub fn keep(&mut self, mapped: &[Vma]) -> Vec<Record> {
        let mut gone = Vec::new();
        let mut kept = Vec::with_capacity(self.records.len());
        for record in self.records.drain(..) {
            split(record, mapped, &mut kept, &mut gone);
        }
        kept.sort_unstable_by_key(|record| record.pages.start);
        let unknown: Vec<Record> = mapped.iter().flat_map(|vma| unknown(vma, &kept)).collect();
        kept.extend(unknown);
        kept.sort_unstable_by_key(|record| record.pages.start);
        self.records = kept;
        gone
    }
}

/// The parts of a mapping that no record is of. (`records` are sorted.)
fn unknown(vma: &Vma, records: &[Record]) -> Vec<Record> {
    let fresh = |pages: Range<usize>| {
        let (offset, len) = (vma.offset + (pages.start - vma.start) as u64, pages.len());
        Record { address: pages.start, pages, offset, len, needed: 0, uses: 0 }
    };
    let (mut at, mut unknown) = (vma.start, Vec::new());
    for record in records.iter().filter(|record| record.pages.start < vma.end && vma.start < record.pages.end) {
        if at < record.pages.start {
            unknown.push(fresh(at..record.pages.start));
        }
        at = record.pages.end;
    }
    if at < vma.end {
        unknown.push(fresh(at..vma.end));
    }
    unknown
}

/// Divides a record into what is still mapped so and what is not.
fn split(record: Record, mapped: &[Vma], kept: &mut Vec<Record>, gone: &mut Vec<Record>) {
    let part = |pages: Range<usize>| {
        let offset = record.offset + (pages.start - record.pages.start) as u64;
        Record { pages, offset, ..record.clone() }
    };
    let mut at = record.pages.start;
    let first = mapped.partition_point(|vma| vma.end <= at);
    for vma in mapped[first..].iter().take_while(|vma| vma.start < record.pages.end) {
        let same = vma.start.max(at)..vma.end.min(record.pages.end);
        if same.is_empty() || vma.offset + (same.start - vma.start) as u64 != part(same.clone()).offset {
            continue;
        }
        if at < same.start {
            gone.push(part(at..same.start));
        }
        at = same.end;
        kept.push(part(same));
    }
    if at < record.pages.end {
        gone.push(part(at..record.pages.end));
    }
}

#[cfg(test)]
mod tests;
