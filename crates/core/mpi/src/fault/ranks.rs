//! Sets of ranks, as bits.

/// Ranks in a group. As long as all are below 64, the set allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ranks {
    first: u64,
    /// The words behind the first one; the last of them is not zero.
    more: Vec<u64>,
}

/// Ranks in a word.
const WORD: usize = u64::BITS as usize;

impl Ranks {
    pub const fn new() -> Ranks {
        Ranks { first: 0, more: Vec::new() }
    }

    /// All of `range`.
    pub fn range(range: std::ops::Range<usize>) -> Ranks {
        let words = range.end.div_ceil(WORD);
        let word = |at: usize| {
            let (low, high) = (range.start.max(at * WORD), range.end.min((at + 1) * WORD));
            if low >= high { 0 } else { (u64::MAX >> (WORD - (high - low))) << (low - at * WORD) }
        };
        let mut ranks = Ranks { first: word(0), more: (1..words).map(word).collect() };
        ranks.trim();
        ranks
    }

    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.more.is_empty()
    }

    pub fn contains(&self, rank: usize) -> bool {
        self.word(rank / WORD) >> (rank % WORD) & 1 != 0
    }

    /// The word with the ranks from `at` times 64 on.
    fn word(&self, at: usize) -> u64 {
        match at.checked_sub(1) {
            None => self.first,
            Some(at) => self.more.get(at).copied().unwrap_or(0),
        }
    }

    fn words(&self) -> usize {
        1 + self.more.len()
    }

    /// False when it is there already.
    pub fn insert(&mut self, rank: usize) -> bool {
        let (at, bit) = (rank / WORD, 1 << (rank % WORD));
        if at > self.more.len() {
            self.more.resize(at, 0);
        }
        let word = if at == 0 { &mut self.first } else { &mut self.more[at - 1] };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    pub fn clear(&mut self) {
        self.first = 0;
        self.more.clear();
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: &Ranks) {
        self.first |= other.first;
        if self.more.len() < other.more.len() {
            self.more.resize(other.more.len(), 0);
        }
        self.more.iter_mut().zip(&other.more).for_each(|(word, other)| *word |= other);
    }

    /// Keeps those that are in `other`, too.
    pub fn intersect(&mut self, other: &Ranks) {
        self.first &= other.first;
        self.more.truncate(other.more.len());
        self.more.iter_mut().zip(&other.more).for_each(|(word, other)| *word &= other);
        self.trim();
    }

    /// Takes all of `other` out.
    pub fn subtract(&mut self, other: &Ranks) {
        self.first &= !other.first;
        self.more.iter_mut().zip(&other.more).for_each(|(word, other)| *word &= !other);
        self.trim();
    }

    fn trim(&mut self) {
        while self.more.last() == Some(&0) {
            self.more.pop();
        }
    }

    pub fn is_subset(&self, other: &Ranks) -> bool {
        (0..self.words()).all(|at| self.word(at) & !other.word(at) == 0)
    }

    /// The largest one.
    pub fn last(&self) -> Option<usize> {
        let at = self.more.len();
        let word = self.word(at);
        (word != 0).then(|| at * WORD + word.ilog2() as usize)
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.words()).flat_map(|at| {
            let rest = std::iter::successors(Some(self.word(at)), |rest| Some(rest & rest.wrapping_sub(1)));
            rest.take_while(|rest| *rest != 0).map(move |rest| at * WORD + rest.trailing_zeros() as usize)
        })
    }

    /// The lowest rank that is not in the set.
    pub fn lowest_missing(&self) -> usize {
        let full = (0..self.words()).take_while(|&at| self.word(at) == u64::MAX).count();
        full * WORD + self.word(full).trailing_ones() as usize
    }

    /// As bytes of bits, with the number of zero bytes that are left out before them; the last one is not zero.
    pub fn bytes(&self) -> (usize, impl Iterator<Item = u8>) {
        let before = self.iter().next().map_or(0, |rank| rank / 8);
        let behind = self.last().map_or(0, |rank| rank / 8 + 1);
        (before, (before..behind).map(|byte| (self.word(byte / 8) >> (byte % 8 * 8)) as u8))
    }

    /// The ranks of such bytes. The caller checks that `before` is no number which only damage gives.
    pub fn of_bytes(before: usize, bytes: &[u8]) -> Ranks {
        let end = before + bytes.len();
        let mut ranks = Ranks { first: 0, more: vec![0; end.div_ceil(8).saturating_sub(1)] };
        for (&bits, byte) in bytes.iter().zip(before..) {
            let word = if byte < 8 { &mut ranks.first } else { &mut ranks.more[byte / 8 - 1] };
            *word |= u64::from(bits) << (byte % 8 * 8);
        }
        ranks.trim();
        ranks
    }
}

impl FromIterator<usize> for Ranks {
    fn from_iter<I: IntoIterator<Item = usize>>(all: I) -> Ranks {
        let mut ranks = Ranks::new();
        all.into_iter().for_each(|rank| _ = ranks.insert(rank));
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn some() -> impl Strategy<Value = BTreeSet<usize>> {
        prop::collection::btree_set(0usize..200, 0..40)
    }

    fn ranks(model: &BTreeSet<usize>) -> Ranks {
        model.iter().copied().collect()
    }

    proptest! {
        #[test]
        fn they_are_as_any_sets(mut a in some(), b in some(), rank in 0usize..200, (low, high) in (0usize..200, 0usize..200)) {
            let (mut set, other) = (ranks(&a), ranks(&b));
            prop_assert!(set.iter().eq(a.iter().copied()));
            prop_assert_eq!((set.is_empty(), set.last()), (a.is_empty(), a.last().copied()));
            prop_assert_eq!(set.contains(rank), a.contains(&rank));
            prop_assert_eq!(set.is_subset(&other), a.is_subset(&b));
            prop_assert_eq!(Some(set.lowest_missing()), (0..).find(|rank| !a.contains(rank)));
            prop_assert_eq!(set.insert(rank), a.insert(rank));
            let joined = |join: fn(&mut Ranks, &Ranks)| {
                let mut set = set.clone();
                join(&mut set, &other);
                set
            };
            prop_assert_eq!(joined(Ranks::extend), a.union(&b).copied().collect());
            prop_assert_eq!(joined(Ranks::intersect), a.intersection(&b).copied().collect());
            prop_assert_eq!(joined(Ranks::subtract), a.difference(&b).copied().collect());
            prop_assert_eq!(Ranks::range(low..high), (low..high).collect());
            let (before, bytes) = set.bytes();
            prop_assert_eq!(Ranks::of_bytes(before, &bytes.collect::<Vec<_>>()), set.clone());
            set.clear();
            prop_assert_eq!(set, Ranks::new());
        }
    }
}
