//! Which of this process's memory other processes map too, and where it lies in its file.

use crate::wire::Range;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mapping: the first address and the one behind the last, the file, and the byte of it at the first address.
#[derive(Clone, Copy, Debug)]
struct Map {
    start: usize,
    end: usize,
    file: u64,
    offset: u64,
}

/// By address. They do not overlap.
static MAPS: Mutex<Vec<Map>> = Mutex::new(Vec::new());

fn maps() -> MutexGuard<'static, Vec<Map>> {
    MAPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes what lies from `start` to `end` out of the mappings.
fn cut(maps: &mut Vec<Map>, start: usize, end: usize) {
    let rest = |map: &Map| {
        let low = Map { end: map.end.min(start), ..*map };
        let from = map.start.max(end);
        let high = Map { start: from, offset: map.offset + (from - map.start) as u64, ..*map };
        [low, high].into_iter().filter(|map| map.start < map.end).collect::<Vec<_>>()
    };
    *maps = maps.iter().flat_map(rest).collect();
}

/// `len` bytes from `at` are those of a file from byte `offset`, which other processes map too.
pub fn mapped(at: *const u8, len: usize, file: BorrowedFd<'_>, offset: u64) {
    let Ok(stat) = rustix::fs::fstat(file) else { return };
    let start = at as usize;
    let mut maps = maps();
    cut(&mut maps, start, start + len);
    maps.push(Map { start, end: start + len, file: stat.st_ino, offset });
    maps.sort_unstable_by_key(|map| map.start);
}

/// They are not any more.
pub fn unmapped(at: *const u8, len: usize) {
    cut(&mut maps(), at as usize, at as usize + len);
}

/// Where those bytes lie; in file 0 if no other process maps them.
pub(super) fn find(at: *const u8, len: usize) -> Range {
    let (at, maps) = (at as usize, maps());
    let next = maps.partition_point(|map| map.start <= at);
    let map = next.checked_sub(1).map(|last| maps[last]).filter(|map| at < map.end);
    match map {
        Some(map) => Range { file: map.file, offset: map.offset + (at - map.start) as u64, bytes: len as u64 },
        None => Range { file: 0, offset: 0, bytes: len as u64 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_anew_takes_the_place_of_what_was() {
        let map = |start, end, file| Map { start, end, file, offset: 1000 };
        let mut maps = vec![map(10, 20, 1), map(20, 40, 2)];
        cut(&mut maps, 15, 25);
        let left: Vec<_> = maps.iter().map(|map| (map.start, map.end, map.file, map.offset)).collect();
        assert_eq!(left, [(10, 15, 1, 1000), (25, 40, 2, 1005)]);
    }
}
