//! Whether the memory of a message is still in a cache, by what has passed since it was used last.

use super::SharedCache;

/// Whether the bytes are in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warmth {
    /// The buffers were used just before.
    Warm,
    /// The buffers are in memory only.
    Cold,
}

impl Warmth {
    /// Both.
    pub const ALL: [Warmth; 2] = [Warmth::Warm, Warmth::Cold];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Warmth::Warm => "warm",
            Warmth::Cold => "cold",
        }
    }
}

/// Buffers that are remembered. One that finds its place taken is as if it were new.
const PLACES: usize = 64;
/// Bytes after which memory has left the caches, where no cache is known.
const UNKNOWN: u64 = 8 << 20;
/// The same where the share of the cache is smaller: so much drives out what a cache of one core holds.
const LEAST: u64 = 1 << 20;

/// So many bytes of a process's own messages drive its memory out of the caches: its share of the last one. A message has a source and a
/// target, of which each process counts its own, so all processes together fill the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRoom(u64);

impl CacheRoom {
    /// For one of the processes that share this cache, if one is known.
    pub fn of(cache: Option<SharedCache>) -> CacheRoom {
        CacheRoom(cache.map_or(UNKNOWN, SharedCache::share).max(LEAST))
    }

    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Whether memory has left the caches after so many bytes. `room` takes time to find out, and is asked for where it matters only.
    #[inline]
    pub fn is_passed_by(room: impl FnOnce() -> CacheRoom, bytes: u64) -> bool {
        bytes >= LEAST && bytes >= room().0
    }
}

/// When this process has used its buffers for long messages. Time is counted in bytes.
#[derive(Debug)]
pub struct Recency {
    /// Bytes of all messages.
    passed: u64,
    /// Address of a buffer, and what had passed after its last use.
    seen: [(u64, u64); PLACES],
}

impl Default for Recency {
    fn default() -> Recency {
        Recency { passed: 0, seen: [(0, 0); PLACES] }
    }
}

impl Recency {
    /// A message of `len` bytes begins at `address`. Of a buffer that is not known nothing is known: the program may just have written it.
    /// `room`: what the caches hold, which takes time to find out.
    #[inline]
    pub fn note(&mut self, address: u64, len: u64, room: impl FnOnce() -> CacheRoom) -> Warmth {
        let place = &mut self.seen[((address >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize];
        let cold = place.0 == address && CacheRoom::is_passed_by(room, self.passed - place.1);
        self.passed += len;
        *place = (address, self.passed);
        if cold { Warmth::Cold } else { Warmth::Warm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn memory_is_cold_when_as_much_has_passed_as_the_cache_has_room() {
        let buffer = 0x1000_0000;
        for room in [1, 2, 8, 16] {
            let mut recency = Recency::default();
            let mut note = |buffer, len| recency.note(buffer, len, || CacheRoom(room * MIB));
            assert_eq!(note(buffer, MIB), Warmth::Warm, "nothing is known of it");
            assert_eq!(note(buffer, MIB), Warmth::Warm);
            for other in 1..room {
                note(buffer + other * 64, MIB);
            }
            assert_eq!(note(buffer, MIB), Warmth::Warm, "after {} MiB", room - 1);
            for other in 1..=room {
                note(buffer + other * 64, MIB);
            }
            assert_eq!(note(buffer, MIB), Warmth::Cold, "after {room} MiB");
            assert_eq!(note(buffer, MIB), Warmth::Warm, "it has just been used");
        }
    }

    #[test]
    fn one_long_buffer_is_what_its_own_curve_says() {
        let mut recency = Recency::default();
        let mut note = || recency.note(64, 64 * MIB, || CacheRoom(UNKNOWN));
        assert!((0..100).all(|_| note() == Warmth::Warm), "costs of that length contain it");
    }

    #[test]
    fn a_crowd_has_no_less_than_what_one_core_holds() {
        let room = |processes| CacheRoom::of(Some(SharedCache { size: 32 * MIB, processes })).bytes();
        assert_eq!([room(1), room(8), room(1 << 40)], [32 * MIB, 4 * MIB, LEAST]);
        assert_eq!(CacheRoom::of(None).bytes(), UNKNOWN);
    }

    #[test]
    fn the_room_is_asked_for_where_it_matters() {
        let mut recency = Recency::default();
        for _ in 0..10 {
            assert_eq!(recency.note(64, LEAST / 2, || unreachable!("too little has passed")), Warmth::Warm);
        }
    }
}
