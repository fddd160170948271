//! The words that are counted in.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A sum. One thread adds at a time; any may read.
pub struct Counter(AtomicU64);

impl Counter {
    pub const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// Adds `amount`. No atomic addition: who adds holds the library's lock.
    #[inline(always)]
    pub fn add(&self, amount: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// The sum.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Default for Counter {
    fn default() -> Counter {
        Counter::new()
    }
}

/// How much of something there is, and the most that there ever was.
pub struct Level {
    now: Counter,
    peak: AtomicU64,
}

impl Level {
    pub const fn new() -> Level {
        Level { now: Counter::new(), peak: AtomicU64::new(0) }
    }

    /// There is `amount` more.
    #[inline]
    pub fn raise(&self, amount: u64) {
        self.now.add(amount);
        let now = self.now.get();
        if now > self.peak.load(Relaxed) {
            self.peak.store(now, Relaxed);
        }
    }

    /// There is `amount` less.
    #[inline]
    pub fn lower(&self, amount: u64) {
        self.now.add(amount.wrapping_neg());
    }

    /// There is `amount` now.
    pub fn set(&self, amount: u64) {
        self.lower(self.get());
        self.raise(amount);
    }

    /// How much there is.
    pub fn get(&self) -> u64 {
        self.now.get()
    }

    /// The most that there was.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }
}

impl Default for Level {
    fn default() -> Level {
        Level::new()
    }
}

/// Messages by their length, below [`Lengths::END`] bytes: one addition counts both messages and bytes.
pub struct Lengths([Counter; Lengths::END]);

impl Lengths {
    /// The first length that there is no place for; a power of two.
    pub const END: usize = 128;

    pub const fn new() -> Lengths {
        Lengths([const { Counter::new() }; Lengths::END])
    }

    /// One message of `len` bytes, which is below [`Lengths::END`].
    #[inline(always)]
    pub fn count(&self, len: usize) {
        debug_assert!(len < Lengths::END);
        self.0[len % Lengths::END].add(1);
    }

    /// All messages.
    pub fn messages(&self) -> u64 {
        self.0.iter().map(Counter::get).sum()
    }

    /// The bytes of all messages.
    pub fn bytes(&self) -> u64 {
        (0..).zip(&self.0).map(|(len, counter)| len * counter.get()).sum()
    }
}

impl Default for Lengths {
    fn default() -> Lengths {
        Lengths::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_knows_its_peak() {
        let level = Level::new();
        level.raise(3);
        level.raise(4);
        level.lower(5);
        level.raise(1);
        assert_eq!((level.get(), level.peak()), (3, 7));
        level.set(2);
        assert_eq!((level.get(), level.peak()), (2, 7));
    }

    #[test]
    fn lengths_give_messages_and_bytes() {
        let lengths = Lengths::new();
        for len in [0, 0, 8, 8, 8, 80, 127] {
            lengths.count(len);
        }
        assert_eq!((lengths.messages(), lengths.bytes()), (7, 24 + 80 + 127));
    }
}
