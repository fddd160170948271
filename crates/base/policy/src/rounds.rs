//! Trials of many kinds of transfers, and of rounds of transfers that go the same way.

use crate::coordinator::{Cell, SharedCoordinator, TrialId};
use crate::trial::{JointTrial, Trial};
use alloc::collections::BTreeMap;

/// A trial for each kind of what is tried, which is a number.
#[derive(Debug)]
pub struct Kinds<T> {
    trials: BTreeMap<usize, T>,
    /// The kind that began last.
    last: Option<usize>,
    coordinator: SharedCoordinator,
    /// Its number, for the coordinator.
    table: u64,
}

impl<T> Default for Kinds<T> {
    /// With a coordinator of its own.
    fn default() -> Kinds<T> {
        Kinds::new(&SharedCoordinator::default())
    }
}

impl<T> Kinds<T> {
    /// Without any trial so far.
    pub fn new(coordinator: &SharedCoordinator) -> Kinds<T> {
        let table = coordinator.new_table();
        Kinds { trials: BTreeMap::new(), last: None, coordinator: coordinator.clone(), table }
    }

    /// Which of the trials of the process may run.
    pub(crate) fn coordinator(&self) -> &SharedCoordinator {
        &self.coordinator
    }
}

impl<T: Default> Kinds<T> {
    /// The trial of `kind`, of which something begins now, and whether what began last was of that kind as well.
    pub fn begin(&mut self, kind: usize) -> (&mut T, bool) {
        let same = self.last.replace(kind) == Some(kind);
        (self.trials.entry(kind).or_default(), same)
    }

    /// The trial of `kind`.
    fn of(&mut self, kind: usize) -> &mut T {
        self.trials.entry(kind).or_default()
    }

    /// The trial of `kind`, for the coordinator.
    pub(crate) fn id(&self, kind: usize) -> TrialId {
        TrialId::new(self.table, kind)
    }

    /// The trial of what began last.
    pub fn last(&mut self) -> Option<&mut T> {
        self.trials.get_mut(&self.last?)
    }
}

/// Trials for transfers of different kinds.
pub type Trials = Kinds<Trial>;

impl Trials {
    /// The way for a transfer of `kind` in `cell` that begins at `now`, in nanoseconds.
    pub fn way(&mut self, kind: usize, cell: Cell, now: impl FnOnce() -> u64) -> usize {
        let id = self.id(kind);
        let same = self.last.replace(kind) == Some(kind);
        let trial = self.trials.entry(kind).or_default();
        if !trial.is_running() {
            return trial.way(now, same);
        }
        if !self.coordinator.with(|coordinator| coordinator.may_run(cell, id)) {
            return trial.give_way();
        }
        let way = trial.way(now, same);
        if !trial.is_running() {
            self.coordinator.with(|coordinator| coordinator.end(cell, id));
        }
        way
    }
}

/// The turn of a trial that one transfer carries until it is known how it went. Several may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    kind: usize,
    number: u32,
}

impl Trials {
    /// The ticket of the transfer of `kind` that was told its way last, if the trial runs.
    fn ticket(&self, kind: usize) -> Option<Ticket> {
        self.trials.get(&kind).and_then(Trial::ticket).map(|number| Ticket { kind, number })
    }
}

impl Kinds<JointTrial> {
    /// As [`Kinds::begin`], of a trial that other processes make at the same time, in `cell`.
    pub fn begin_joint(&mut self, kind: usize, cell: Cell) -> (&mut JointTrial, bool) {
        let id = self.id(kind);
        let coordinator = self.coordinator.clone();
        let (trial, same) = self.begin(kind);
        if trial.is_running() {
            trial.holds = true;
            coordinator.with(|coordinator| coordinator.seize(cell, id));
        } else if core::mem::take(&mut trial.holds) {
            coordinator.with(|coordinator| coordinator.end(cell, id));
        }
        (trial, same)
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
    /// Without any trial so far.
    pub fn new(coordinator: &SharedCoordinator) -> Rounds {
        Rounds { trials: Trials::new(coordinator), way: None }
    }

    /// Which of the trials of the process may run.
    pub(crate) fn coordinator(&self) -> &SharedCoordinator {
        self.trials.coordinator()
    }

    /// The way for a transfer of `kind` in `cell` that begins at `now`, in nanoseconds. `first`: how it is to be tried, if none of that kind was.
    pub fn way(&mut self, kind: usize, cell: Cell, now: impl FnOnce() -> u64, first: impl FnOnce() -> Trial) -> usize {
        *self.way.get_or_insert_with(|| {
            self.trials.trials.entry(kind).or_insert_with(first);
            self.trials.way(kind, cell, now)
        })
    }

    /// The same for a transfer that gives its ticket back if it does not go that way. Only the first one of a round has one, since the others go as it does.
    pub fn draw(
        &mut self, kind: usize, cell: Cell, now: impl FnOnce() -> u64, first: impl FnOnce() -> Trial,
    ) -> (usize, Option<Ticket>) {
        let begins = self.way.is_none();
        let way = self.way(kind, cell, now, first);
        (way, if begins { self.trials.ticket(kind) } else { None })
    }

    /// The transfer with this ticket has gone otherwise.
    pub fn give_back(&mut self, ticket: Ticket) {
        self.trials.of(ticket.kind).give_back(ticket.number);
    }

    /// The trial of `kind`, for the coordinator.
    pub(crate) fn id(&self, kind: usize) -> TrialId {
        self.trials.id(kind)
    }

    /// What begins from now on is another round.
    pub fn end_round(&mut self) {
        self.way = None;
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
            let way = rounds.way(3, Cell::of(8), clock, || Trial::presuming(1));
            assert!(
                (0..5).all(|kind| rounds.way(kind, Cell::of(8), clock, Trial::default) == way),
                "those that are begun with it"
            );
            rounds.end_round();
            ways.push(way);
        }
        let turn = TURN as usize;
        assert!(ways[..turn].iter().chain(&ways[3 * turn..]).all(|&way| way == 1), "what was presumed: {ways:?}");
        assert!(ways[turn..3 * turn].iter().all(|&way| way == 0), "and what is tried: {ways:?}");
    }
}
