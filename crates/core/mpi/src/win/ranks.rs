//! A set of ranks.

use std::cell::{Cell, RefCell};

/// Ranks of a window, as bits: those of most windows fit the first word, for which nothing is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    first: Cell<u64>,
    more: RefCell<Vec<u64>>,
    /// How many there are in `more`.
    beyond: Cell<u32>,
}

impl Ranks {
    /// From now on it is `other`.
    pub fn set(&self, other: Ranks) {
        self.first.set(other.first.get());
        self.more.swap(&other.more);
        self.beyond.set(other.beyond.get());
    }

    /// Those below 64, as bits.
    #[inline(always)]
    pub fn first(&self) -> u64 {
        self.first.get()
    }

    #[inline(always)]
    pub fn has(&self, rank: u32) -> bool {
        match rank {
            0..64 => self.first.get() >> rank & 1 == 1,
            _ => self.is_beyond(rank),
        }
    }

    fn is_beyond(&self, rank: u32) -> bool {
        self.more.borrow().get(rank as usize / 64 - 1).is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    #[inline]
    pub fn add(&self, rank: u32) {
        match rank {
            0..64 => self.first.set(self.first.get() | 1 << rank),
            _ => self.change_beyond(rank, |word, bit| word | bit),
        }
    }

    #[inline]
    pub fn remove(&self, rank: u32) {
        match rank {
            0..64 => self.first.set(self.first.get() & !(1 << rank)),
            _ => self.change_beyond(rank, |word, bit| word & !bit),
        }
    }

    #[cold]
    fn change_beyond(&self, rank: u32, change: impl Fn(u64, u64) -> u64) {
        let (mut more, at) = (self.more.borrow_mut(), rank as usize / 64 - 1);
        if more.len() <= at {
            more.resize(at + 1, 0);
        }
        more[at] = change(more[at], 1 << (rank % 64));
        self.beyond.set(more.iter().map(|word| word.count_ones()).sum());
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.get() == 0 && self.beyond.get() == 0
    }
}

impl FromIterator<u32> for Ranks {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Ranks {
        let set = Ranks::default();
        ranks.into_iter().for_each(|rank| set.add(rank));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(steps in proptest::collection::vec((any::<bool>(), 0u32..200), 0..100)) {
            let (ranks, mut model) = (Ranks::default(), BTreeSet::new());
            for (add, rank) in steps {
                if add {
                    ranks.add(rank);
                    model.insert(rank);
                } else {
                    ranks.remove(rank);
                    model.remove(&rank);
                }
                prop_assert_eq!(ranks.is_empty(), model.is_empty());
                prop_assert_eq!(ranks.first(), model.iter().filter(|&&r| r < 64).map(|r| 1 << r).sum::<u64>());
                (0..200).try_for_each(|r| { prop_assert_eq!(ranks.has(r), model.contains(&r)); Ok(()) })?;
            }
        }
    }
}
