//! Address space for the child of a fork, set aside while memory is shared.
//!
//! It is private memory without pages: it counts as address space and data of the process, as the memory did before it was shared, and
//! takes none.

use super::drop_pages;
use rustix::io;
use rustix::mm::{self, MapFlags, ProtFlags};
use std::ffi::c_void;
use std::ops::Range;
use tern_node::maps::FileId;

/// For which offsets of which file, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Reserve {
    file: FileId,
    offsets: Range<u64>,
    at: usize,
}

impl Reserve {
    /// The part for these offsets.
    fn part(&self, offsets: Range<u64>) -> Reserve {
        let at = self.at + (offsets.start - self.offsets.start) as usize;
        Reserve { file: self.file, offsets, at }
    }

    fn len(&self) -> usize {
        (self.offsets.end - self.offsets.start) as usize
    }
}

/// Sorted by offset within each file; no two overlap.
#[derive(Default)]
pub struct Reserves(Vec<Reserve>);

pub fn pointer(address: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address)
}

/// What of the range is in none of the parts, which are sorted and do not overlap.
fn missing(range: &Range<u64>, parts: &[(Range<u64>, usize)]) -> Vec<Range<u64>> {
    let mut at = range.start;
    let mut missing = Vec::new();
    for (part, _) in parts {
        if at < part.start {
            missing.push(at..part.start);
        }
        at = part.end;
    }
    if at < range.end {
        missing.push(at..range.end);
    }
    missing
}

impl Reserves {
    pub const fn new() -> Reserves {
        Reserves(Vec::new())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Room for another one, so that [`Reserves::add`] cannot fail.
    pub fn prepare(&mut self) {
        self.0.reserve(1);
    }

    /// `len` bytes of private memory at `at` are set aside for these offsets, for which nothing was.
    pub fn add(&mut self, file: FileId, offset: u64, at: usize, len: usize) {
        let index = self.0.partition_point(|one| (one.file.inode, one.offsets.start) < (file.inode, offset));
        self.0.insert(index, Reserve { file, offsets: offset..offset + len as u64, at });
    }

    /// What is set aside for these offsets, in order, and where.
    pub fn parts(&self, file: FileId, offsets: Range<u64>) -> Vec<(Range<u64>, usize)> {
        let of_file = self.0.iter().filter(|one| one.file == file);
        let parts = of_file.filter_map(|one| {
            let both = one.offsets.start.max(offsets.start)..one.offsets.end.min(offsets.end);
            (both.start < both.end).then(|| one.part(both))
        });
        parts.map(|part| (part.offsets, part.at)).collect()
    }

    /// Sets aside what is missing for these offsets. Errors: of mmap.
    pub fn complete(&mut self, file: FileId, offset: u64, len: usize) -> io::Result<()> {
        let offsets = offset..offset + len as u64;
        for gap in missing(&offsets, &self.parts(file, offsets.clone())) {
            let len = (gap.end - gap.start) as usize;
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: fresh memory at an address of the kernel's choice.
            let at = unsafe { mm::mmap_anonymous(std::ptr::null_mut(), len, rights, MapFlags::PRIVATE)? };
            self.add(file, gap.start, at.addr(), len);
        }
        Ok(())
    }

    /// Gives back what is set aside for these offsets.
    pub fn end(&mut self, file: FileId, offsets: Range<u64>) {
        self.retain(file, &offsets, &[]);
    }

    /// Of what is set aside for offsets of `area`, gives back all but what is for `used`.
    pub fn retain(&mut self, file: FileId, area: &Range<u64>, used: &[Range<u64>]) {
        let mut kept = Vec::with_capacity(self.0.len());
        for one in std::mem::take(&mut self.0) {
            if one.file != file {
                kept.push(one);
                continue;
            }
            let mut cuts = vec![one.offsets.start, one.offsets.end];
            cuts.extend(used.iter().chain([area]).flat_map(|range| [range.start, range.end]));
            cuts.retain(|cut| (one.offsets.start..=one.offsets.end).contains(cut));
            cuts.sort_unstable();
            cuts.dedup();
            for cut in cuts.windows(2) {
                let part = one.part(cut[0]..cut[1]);
                if !area.contains(&cut[0]) || used.iter().any(|range| range.contains(&cut[0])) {
                    kept.push(part);
                } else {
                    // SAFETY: our own memory, which nobody uses.
                    let _ = unsafe { mm::munmap(pointer(part.at), part.len()) };
                }
            }
        }
        self.0 = kept;
    }

    /// In a child: it needs none.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// Takes the pages that a fork has put there.
pub fn empty(at: usize, len: usize) {
    drop_pages(at, len);
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId { device: (0, 1), inode: 7 };
    const OTHER: FileId = FileId { device: (0, 1), inode: 8 };
    const PAGE: usize = 4096;

    fn pages(range: Range<u64>) -> Range<u64> {
        range.start * PAGE as u64..range.end * PAGE as u64
    }

    #[test]
    fn what_is_missing_is_set_aside_and_what_is_unused_goes() {
        let mut reserves = Reserves::new();
        reserves.complete(FILE, 2 * PAGE as u64, 2 * PAGE).unwrap();
        reserves.complete(OTHER, 0, PAGE).unwrap();
        let first = reserves.parts(FILE, pages(0..9));
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].0, pages(2..4));
        reserves.complete(FILE, PAGE as u64, 5 * PAGE).unwrap();
        let all = reserves.parts(FILE, pages(0..9));
        assert_eq!(all.iter().map(|part| part.0.clone()).collect::<Vec<_>>(), [pages(1..2), pages(2..4), pages(4..6)]);
        assert_eq!(all[1].1, first[0].1, "stays where it is");
        assert_eq!(reserves.parts(FILE, pages(3..5))[0], (pages(3..4), first[0].1 + PAGE));
        reserves.retain(FILE, &pages(0..5), &[pages(3..4)]);
        let left: Vec<_> = reserves.parts(FILE, pages(0..9)).into_iter().map(|part| part.0).collect();
        assert_eq!(left, [pages(3..4), pages(5..6)]);
        reserves.end(FILE, pages(0..9));
        assert!(reserves.parts(FILE, pages(0..9)).is_empty());
        assert_eq!(reserves.parts(OTHER, pages(0..9)).len(), 1);
        reserves.end(OTHER, pages(0..1));
    }
}
