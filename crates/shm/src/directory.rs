//! The regions of the kernel module that a process exposes for longer than one message, in its block of the segment.

use crate::sync::{AtomicU64, Ordering, fence};
use tern_region::Run;

/// Regions of a process at a time. More would not fit the page of its block.
pub const REGIONS: usize = 64;

/// One region, as its owner tells it: written by that process alone.
#[repr(C)]
struct Spot {
    /// Odd while the rest is being changed.
    version: AtomicU64,
    start: AtomicU64,
    len: AtomicU64,
    /// 0: there is none.
    cookie: AtomicU64,
}

impl Spot {
    fn store(&self, start: u64, len: u64, cookie: u64) {
        // Relaxed: nobody else writes.
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        // Release: pairs with the acquire fence in `load`, which so sees an odd version with the new words.
        fence(Ordering::Release);
        self.start.store(start, Ordering::Relaxed);
        self.len.store(len, Ordering::Relaxed);
        self.cookie.store(cookie, Ordering::Relaxed);
        // Release: pairs with the acquire in `load`.
        self.version.store(version + 2, Ordering::Release);
    }

    /// Start, length and cookie; `None` where there is no region, or its owner is changing it.
    fn load(&self) -> Option<(u64, u64, u64)> {
        // Acquire: pairs with the release in `store`.
        let version = self.version.load(Ordering::Acquire);
        let [start, len, cookie] = [&self.start, &self.len, &self.cookie].map(|word| word.load(Ordering::Relaxed));
        // Acquire: pairs with the release fence in `store`.
        fence(Ordering::Acquire);
        let whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        (whole && cookie != 0).then_some((start, len, cookie))
    }
}

/// The regions of a process, in its block of the segment.
#[repr(C)]
pub struct Directory([Spot; REGIONS]);

impl Directory {
    /// One outside a segment.
    #[cfg(test)]
    pub fn new() -> Directory {
        Directory(std::array::from_fn(|_| Spot {
            version: AtomicU64::new(0),
            start: AtomicU64::new(0),
            len: AtomicU64::new(0),
            cookie: AtomicU64::new(0),
        }))
    }

    /// Writes region `at` of the owner, which alone may do so; cookie 0: there is none any more.
    pub fn tell(&self, at: usize, start: u64, len: u64, cookie: u64) {
        self.0[at].store(start, len, cookie);
    }

    /// Cookies of the regions that have all of `run`, and where it begins in them.
    pub fn find(&self, run: &Run) -> impl Iterator<Item = (u64, u64)> {
        let (at, len) = (run.at as u64, run.len as u64);
        self.0.iter().filter_map(Spot::load).filter_map(move |(start, room, cookie)| {
            let skip = at.checked_sub(start)?;
            (skip <= room && len <= room - skip).then_some((cookie, skip))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        Directory::new()
    }

    fn found(directory: &Directory, at: u64, len: usize) -> Vec<(u64, u64)> {
        directory.find(&Run::new(at as *const u8, len)).collect()
    }

    #[test]
    fn a_region_is_found_by_what_lies_in_it() {
        let directory = directory();
        directory.0[3].store(1000, 100, 7);
        directory.0[5].store(1050, 500, 8);
        assert_eq!(found(&directory, 1000, 100), [(7, 0)]);
        assert_eq!(found(&directory, 1060, 40), [(7, 60), (8, 10)]);
        assert_eq!(found(&directory, 1060, 41), [(8, 10)]);
        assert_eq!(found(&directory, 999, 1), []);
        assert_eq!(found(&directory, 1040, 100), []);
        assert_eq!(found(&directory, u64::MAX, 1), []);
        directory.0[3].store(0, 0, 0);
        assert_eq!(found(&directory, 1000, 1), []);
    }

    #[test]
    fn a_spot_that_is_being_changed_is_none() {
        let directory = directory();
        directory.0[0].store(1000, 100, 7);
        directory.0[0].version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(found(&directory, 1000, 1), []);
    }
}
