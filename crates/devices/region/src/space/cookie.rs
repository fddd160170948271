//! The names of regions.

use std::num::NonZeroU64;

/// The name of a region, good in every process of its space. It is eight bytes without pointers:
/// send it to a peer by whatever means. The name of a region that was destroyed is never used
/// again before four thousand million others had its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cookie(NonZeroU64);

/// A byte of a region: where a copy begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The name of the region.
    pub cookie: Cookie,
    /// Bytes from the region's start, over all its segments.
    pub offset: u64,
}

impl Cookie {
    /// Generations count from 1, so that no cookie is 0.
    pub(crate) fn new(member: u32, slot: u32, generation: u32) -> Cookie {
        debug_assert!(generation > 0 && member < 1 << 16 && slot < 1 << 16);
        let bits = u64::from(generation) << 32 | u64::from(member) << 16 | u64::from(slot);
        Cookie(NonZeroU64::new(bits).unwrap_or(NonZeroU64::MAX))
    }

    /// The number to send to a peer; never 0.
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The cookie that a peer has sent as a number; `None` for 0. Any other number is taken, and
    /// using it is an error if no region has that name.
    pub fn from_bits(bits: u64) -> Option<Cookie> {
        NonZeroU64::new(bits).map(Cookie)
    }

    /// The byte at `offset`.
    pub fn at(self, offset: u64) -> Spot {
        Spot { cookie: self, offset }
    }

    /// The process that the region belongs to.
    pub fn member(self) -> u32 {
        (self.0.get() >> 16) as u32 & 0xffff
    }

    pub(crate) fn slot(self) -> u32 {
        self.0.get() as u32 & 0xffff
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0.get() >> 32) as u32
    }
}
