//! A set of ranks.

/// Ranks of a window, as bits: those of most windows fit the first word, for which nothing is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    first: u64,
    more: Vec<u64>,
    count: usize,
}

impl Ranks {
    #[inline(always)]
    pub fn has(&self, rank: u32) -> bool {
        match rank {
            0..64 => self.first >> rank & 1 == 1,
            _ => self.is_beyond(rank),
        }
    }

    fn is_beyond(&self, rank: u32) -> bool {
        self.more.get(rank as usize / 64 - 1).is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    #[inline]
    fn word(&mut self, rank: u32) -> &mut u64 {
        if rank < 64 { &mut self.first } else { self.word_beyond(rank as usize / 64 - 1) }
    }

    #[cold]
    fn word_beyond(&mut self, at: usize) -> &mut u64 {
        if self.more.len() <= at {
            self.more.resize(at + 1, 0);
        }
        &mut self.more[at]
    }

    #[inline]
    pub fn add(&mut self, rank: u32) {
        let (word, bit) = (self.word(rank), 1 << (rank % 64));
        let new = *word & bit == 0;
        *word |= bit;
        self.count += new as usize;
    }

    #[inline]
    pub fn remove(&mut self, rank: u32) {
        let (word, bit) = (self.word(rank), 1 << (rank % 64));
        let old = *word & bit != 0;
        *word &= !bit;
        self.count -= old as usize;
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl FromIterator<u32> for Ranks {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Ranks {
        let mut set = Ranks::default();
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
            let (mut ranks, mut model) = (Ranks::default(), BTreeSet::new());
            for (add, rank) in steps {
                if add {
                    ranks.add(rank);
                    model.insert(rank);
                } else {
                    ranks.remove(rank);
                    model.remove(&rank);
                }
                prop_assert_eq!(ranks.is_empty(), model.is_empty());
                (0..200).try_for_each(|r| { prop_assert_eq!(ranks.has(r), model.contains(&r)); Ok(()) })?;
            }
        }
    }
}
