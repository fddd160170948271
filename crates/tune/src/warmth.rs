//! Whether the memory of a message is still in a cache, by what has passed since it was used last.

use std::cell::OnceCell;
use std::rc::Rc;

use tern_node::topology::{Cache, online};

use crate::Warmth;
use crate::single_copy::SharedCache;

/// Buffers that are remembered. One that finds its place taken is as if it were new.
const PLACES: usize = 64;
/// Bytes after which memory has left the caches, where no cache is known.
const UNKNOWN: u64 = 8 << 20;
/// The same where the share of the cache is smaller: so much drives out what a cache of one core holds.
const LEAST: u64 = 1 << 20;

/// So many bytes of a process's own messages drive its memory out of the caches: its share of the last one. A message has a source and a
/// target, of which each process counts its own, so all processes together fill the cache.
#[derive(Debug)]
pub struct CacheRoom {
    /// Of the node.
    processes: u64,
    bytes: OnceCell<u64>,
}

impl CacheRoom {
    /// For one of so many processes of a node. Asks the machine when it is first needed.
    pub fn new(processes: u64) -> CacheRoom {
        CacheRoom { processes, bytes: OnceCell::new() }
    }

    /// Of so many bytes.
    #[cfg(test)]
    fn of(bytes: u64) -> CacheRoom {
        CacheRoom { processes: 0, bytes: OnceCell::from(bytes) }
    }

    /// In bytes, [`LEAST`] at least.
    pub fn bytes(&self) -> u64 {
        *self.bytes.get_or_init(|| {
            let core = tern_node::affinity().first().copied();
            let cache =
                core.and_then(|core| SharedCache::among(&Cache::around(core), core, self.processes, online() as u64));
            cache.map_or(UNKNOWN, SharedCache::share).max(LEAST)
        })
    }

    /// Whether memory has left the caches after so many bytes.
    #[inline]
    pub fn is_passed_by(&self, bytes: u64) -> bool {
        bytes >= LEAST && bytes >= self.bytes()
    }
}

/// When this process has used its buffers for long messages. Time is counted in bytes.
#[derive(Debug)]
pub struct Recency {
    room: Rc<CacheRoom>,
    /// Bytes of all messages.
    passed: u64,
    /// Address of a buffer, and what had passed after its last use.
    seen: [(u64, u64); PLACES],
}

impl Recency {
    /// Nothing was used yet.
    pub fn new(room: Rc<CacheRoom>) -> Recency {
        Recency { room, passed: 0, seen: [(0, 0); PLACES] }
    }

    /// A message of `len` bytes begins at `address`. Of a buffer that is not known nothing is known: the program may just have written it.
    #[inline]
    pub fn note(&mut self, address: u64, len: u64) -> Warmth {
        let place = &mut self.seen[((address >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize];
        let cold = place.0 == address && self.room.is_passed_by(self.passed - place.1);
        self.passed += len;
        *place = (address, self.passed);
        if cold { Warmth::Cold } else { Warmth::Warm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn recency(room: u64) -> Recency {
        Recency::new(Rc::new(CacheRoom::of(room)))
    }

    #[test]
    fn memory_is_cold_when_as_much_has_passed_as_the_cache_has_room() {
        let buffer = 0x1000_0000;
        for room in [1, 2, 8, 16] {
            let mut recency = recency(room * MIB);
            assert_eq!(recency.note(buffer, MIB), Warmth::Warm, "nothing is known of it");
            assert_eq!(recency.note(buffer, MIB), Warmth::Warm);
            for other in 1..room {
                recency.note(buffer + other * 64, MIB);
            }
            assert_eq!(recency.note(buffer, MIB), Warmth::Warm, "after {} MiB", room - 1);
            for other in 1..=room {
                recency.note(buffer + other * 64, MIB);
            }
            assert_eq!(recency.note(buffer, MIB), Warmth::Cold, "after {room} MiB");
            assert_eq!(recency.note(buffer, MIB), Warmth::Warm, "it has just been used");
        }
    }

    #[test]
    fn one_long_buffer_is_what_its_own_curve_says() {
        let mut recency = recency(UNKNOWN);
        assert!((0..100).all(|_| recency.note(64, 64 * MIB) == Warmth::Warm), "costs of that length contain it");
    }

    #[test]
    fn this_machine_has_room_for_something() {
        assert!((LEAST..1 << 40).contains(&CacheRoom::new(2).bytes()));
        assert_eq!(CacheRoom::new(1 << 40).bytes(), LEAST, "a crowd has no less than what one core holds");
    }
}
