//! A set of ranks.

/// Ranks of a window, as bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    words: Vec<u64>,
    count: usize,
}

impl Ranks {
    pub fn one(rank: u32) -> Ranks {
        Ranks::from_iter([rank])
    }

    #[inline]
    pub fn has(&self, rank: u32) -> bool {
        self.words.get(rank as usize / 64).is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    pub fn add(&mut self, rank: u32) {
        let at = rank as usize / 64;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        self.count += !self.has(rank) as usize;
        self.words[at] |= 1 << (rank % 64);
    }

    pub fn remove(&mut self, rank: u32) {
        if self.has(rank) {
            self.words[rank as usize / 64] &= !(1 << (rank % 64));
            self.count -= 1;
        }
    }

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
