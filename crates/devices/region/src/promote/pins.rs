//! Ranges of memory that are to stay promoted across a fork: peers are at them at any time.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most ranges at a time.
const MOST: usize = 64;

/// A range of addresses; empty while `end` is 0.
#[derive(Default)]
struct Pin {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// A set of ranges, in which one may be several times. Changed by one thread at a time; the handlers of a fork read it
/// in any thread.
pub struct Pins(Box<[Pin]>);

impl Default for Pins {
    fn default() -> Pins {
        Pins((0..MOST).map(|_| Pin::default()).collect())
    }
}

impl Pins {
    /// False when there is no room.
    pub fn add(&self, range: &Range<usize>) -> bool {
        let free = self.0.iter().find(|pin| pin.end.load(Ordering::Relaxed) == 0);
        free.is_some_and(|pin| {
            pin.start.store(range.start, Ordering::Relaxed);
            // Release: pairs with the acquire in `divide`.
            pin.end.store(range.end, Ordering::Release);
            true
        })
    }

    /// Ends one [`Pins::add`].
    pub fn remove(&self, range: &Range<usize>) {
        let is = |pin: &&Pin| {
            pin.end.load(Ordering::Relaxed) == range.end && pin.start.load(Ordering::Relaxed) == range.start
        };
        if let Some(pin) = self.0.iter().find(is) {
            pin.end.store(0, Ordering::Relaxed);
        }
    }

    /// Whether all of it is in the set.
    pub fn holds(&self, range: &Range<usize>) -> bool {
        self.divide(range.clone()).iter().all(|(_, held)| *held)
    }

    /// `whole` in pieces, in order, with whether each is in the set.
    pub fn divide(&self, whole: Range<usize>) -> Vec<(Range<usize>, bool)> {
        let held = |pin: &Pin| {
            // Acquire: pairs with the release in `add`.
            let end = pin.end.load(Ordering::Acquire).min(whole.end);
            let start = pin.start.load(Ordering::Relaxed).max(whole.start);
            (start < end).then_some(start..end)
        };
        let held: Vec<Range<usize>> = self.0.iter().filter_map(held).collect();
        let mut cuts: Vec<usize> = held.iter().flat_map(|range| [range.start, range.end]).collect();
        cuts.extend([whole.start, whole.end]);
        cuts.sort_unstable();
        cuts.dedup();
        let is_held = |at: usize| held.iter().any(|range| range.contains(&at));
        cuts.windows(2).map(|cut| (cut[0]..cut[1], is_held(cut[0]))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_divided_where_pins_begin_and_end() {
        let pins = Pins::default();
        assert_eq!(pins.divide(0..100), [(0..100, false)]);
        for range in [10..20, 90..120, 10..20] {
            assert!(pins.add(&range));
        }
        let parts = [(0..10, false), (10..20, true), (20..90, false), (90..100, true)];
        assert_eq!(pins.divide(0..100), parts);
        pins.remove(&(10..20));
        assert_eq!(pins.divide(0..100), parts, "it was there twice");
        pins.remove(&(10..20));
        assert_eq!(pins.divide(0..100), [(0..90, false), (90..100, true)]);
        assert_eq!(pins.divide(95..99), [(95..99, true)]);
        assert!(pins.holds(&(95..99)) && !pins.holds(&(85..95)) && !pins.holds(&(10..20)));
    }

    #[test]
    fn a_full_set_refuses() {
        let pins = Pins::default();
        assert_eq!((0..100).filter(|_| pins.add(&(1..2))).count(), MOST);
        pins.remove(&(1..2));
        assert!(pins.add(&(3..4)));
    }
}
