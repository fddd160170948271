//! Whether the memory of a message is still in a cache, by what has passed since it was used last.

use crate::Warmth;

/// Buffers that are remembered. One that finds its place taken is as if it were new.
const PLACES: usize = 64;
/// So many bytes of other messages drive memory out of the caches: as in [`tern_region::promote::Reuse::Late`].
const LATE: u64 = 8 << 20;

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
    #[inline]
    pub fn note(&mut self, address: u64, len: u64) -> Warmth {
        let place = &mut self.seen[((address >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize];
        let cold = place.0 == address && self.passed - place.1 >= LATE;
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
    fn memory_is_cold_when_much_has_passed_since() {
        let mut recency = Recency::default();
        let buffer = 0x1000_0000;
        assert_eq!(recency.note(buffer, MIB), Warmth::Warm, "nothing is known of it");
        assert_eq!(recency.note(buffer, MIB), Warmth::Warm);
        for other in 1..=7 {
            recency.note(buffer + other * 64, MIB);
        }
        assert_eq!(recency.note(buffer, MIB), Warmth::Warm, "after 7 MiB");
        for other in 1..=8 {
            recency.note(buffer + other * 64, MIB);
        }
        assert_eq!(recency.note(buffer, MIB), Warmth::Cold, "after 8 MiB");
        assert_eq!(recency.note(buffer, MIB), Warmth::Warm, "it has just been used");
    }

    #[test]
    fn one_long_buffer_is_what_its_own_curve_says() {
        let mut recency = Recency::default();
        assert!((0..100).all(|_| recency.note(64, 64 * MIB) == Warmth::Warm), "costs of that length contain it");
    }
}
