//! Trials of many kinds of transfers, and of rounds of transfers that go the same way.

use crate::rules::Rule;
use crate::trial::Trial;
use std::collections::BTreeMap;
use tern_copy::Target;

/// A trial for each kind of what is tried, which is a number.
#[derive(Debug)]
pub struct Kinds<T> {
    trials: BTreeMap<usize, T>,
    /// The kind that began last.
    last: Option<usize>,
}

impl<T> Default for Kinds<T> {
    fn default() -> Kinds<T> {
        Kinds { trials: BTreeMap::new(), last: None }
    }
}

impl<T: Default> Kinds<T> {
    /// The trial of `kind`, of which something begins now, and whether what began last was of that kind as well.
    pub fn begin(&mut self, kind: usize) -> (&mut T, bool) {
        let same = self.last.replace(kind) == Some(kind);
        (self.trials.entry(kind).or_default(), same)
    }

    /// The trial of what began last.
    pub fn last(&mut self) -> Option<&mut T> {
        self.trials.get_mut(&self.last?)
    }
}

/// Trials for transfers of different kinds.
pub type Trials = Kinds<Trial>;

impl Trials {
    /// The way for a transfer of `kind` that begins at `now`, in nanoseconds.
    pub fn way(&mut self, kind: usize, now: impl FnOnce() -> u64) -> usize {
        let (trial, same) = self.begin(kind);
        trial.way(now, same)
    }
}

/// Trials of which all transfers of a *round* go the same way: those that are begun together, and then waited for. What counts is how
/// soon the next round begins with a transfer of that kind, since beginning one says little of what it costs.
#[derive(Debug, Default)]
pub struct Rounds {
    trials: Trials,
    /// Of the round that is under way, if it has begun.
    way: Option<usize>,
}

impl Rounds {
    /// The way for a transfer of `kind` that begins at `now`, in nanoseconds. `first`: how it is to be tried, if none of that kind was.
    pub fn way(&mut self, kind: usize, now: impl FnOnce() -> u64, first: impl FnOnce() -> Trial) -> usize {
        *self.way.get_or_insert_with(|| {
            self.trials.trials.entry(kind).or_insert_with(first);
            self.trials.way(kind, now)
        })
    }

    /// What begins from now on is another round.
    pub fn end_round(&mut self) {
        self.way = None;
    }
}

/// Finds out what the memory of long transfers is, by trying both answers on all transfers of a round.
#[derive(Debug, Default)]
pub struct Gauge(Rounds);

impl Gauge {
    /// What the target of a transfer of `len` bytes, which begins at `now`, seems to be: by power of two, and by `rule`.
    pub fn target(&mut self, rule: &Rule, len: usize, now: impl FnOnce() -> u64) -> Target {
        match rule.departs(|| self.0.way(Gauge::kind(len), now, Trial::hasty) == 1) {
            true => Target::Later,
            false => Target::Soon,
        }
    }

    /// Transfers of `len` bytes begin, and a trial elsewhere is finding out whether there are to be such at all, which would count what is tried
    /// here for its own: so nothing is, for the next `transfers`.
    pub fn put_off(&mut self, len: usize, transfers: u32) {
        self.0.trials.trials.entry(Gauge::kind(len)).or_insert_with(Trial::hasty).put_off(transfers);
    }

    fn kind(len: usize) -> usize {
        (len | 1).ilog2() as usize
    }

    /// See [`Rounds::end_round`].
    pub fn end_round(&mut self) {
        self.0.end_round();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{TURN, TURNS};

    #[test]
    fn a_round_goes_one_way() {
        let mut rounds = Rounds::default();
        let mut ways = Vec::new();
        let clock = || 0;
        for _ in 0..TURN * TURNS {
            let way = rounds.way(3, clock, || Trial::presuming(1));
            assert!((0..5).all(|kind| rounds.way(kind, clock, Trial::default) == way), "those that are begun with it");
            rounds.end_round();
            ways.push(way);
        }
        let turn = TURN as usize;
        assert!(ways[..turn].iter().chain(&ways[3 * turn..]).all(|&way| way == 1), "what was presumed: {ways:?}");
        assert!(ways[turn..3 * turn].iter().all(|&way| way == 0), "and what is tried: {ways:?}");
    }
}
