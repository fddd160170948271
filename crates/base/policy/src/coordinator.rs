//! The coordinator of trials: of those that would disturb each other, one runs at a time.
//!
//! A trial compares times from one transfer to the next. Another trial that changes how the same transfers go in the meantime would be measured with
//! it. So a trial claims a [`Cell`] with its first transfer, and gives the cell up when it has decided. Until then every other trial of that cell
//! stays with the way that it takes for the better one, and notes nothing: its outcome is that of a trial alone.
//!
//! - A trial whose program goes on to something else would hold its cell for ever. It loses the cell after [`PATIENCE`] refusals in a row, and
//!   begins anew later.
//! - Trials that several processes make together cannot wait for a cell of one of them: they [seize](Coordinator::seize) it.
//! - A trial of a peer disturbs as well. Where one shows, the own one [yields](Coordinator::yield_to_peer).
//!
//! Only transfers of a trial ask: a trial that rests does not, and short messages never do.

use alloc::rc::Rc;
use core::cell::RefCell;

/// Refusals in a row after which a trial that makes no progress loses its cell.
const PATIENCE: u32 = 64;

/// Transfers that trials compete for: those of about one length. Neither the peer nor the pattern tells cells apart, since some trials know neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell(usize);

impl Cell {
    /// Of transfers of `len` bytes: by power of two.
    pub fn of(len: usize) -> Cell {
        Cell((len | 1).ilog2() as usize)
    }
}

/// A trial, among all of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialId {
    /// The table of trials that it stands in.
    table: u64,
    /// Its kind there.
    kind: usize,
}

impl TrialId {
    pub(crate) fn new(table: u64, kind: usize) -> TrialId {
        TrialId { table, kind }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Trial(TrialId),
    /// A trial of a peer, of which no more is known.
    Peer,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    holder: Holder,
    /// Refusals until the claim is lost.
    left: u32,
}

/// Which trial runs in each cell.
#[derive(Debug)]
pub struct Coordinator {
    claims: [Option<Claim>; u64::BITS as usize],
    /// How many tables of trials ask it.
    tables: u64,
}

impl Default for Coordinator {
    fn default() -> Coordinator {
        Coordinator::new()
    }
}

impl Coordinator {
    /// One of which no trial has asked anything yet.
    pub const fn new() -> Coordinator {
        Coordinator { claims: [None; u64::BITS as usize], tables: 0 }
    }

    /// Whether `trial` may make its next transfer in `cell`. If not, it has to begin anew.
    pub fn may_run(&mut self, cell: Cell, trial: TrialId) -> bool {
        let mine = Claim { holder: Holder::Trial(trial), left: PATIENCE };
        let claim = self.claims[cell.0].get_or_insert(mine);
        if claim.holder == mine.holder || claim.left == 0 {
            *claim = mine;
            return true;
        }
        claim.left -= 1;
        false
    }

    /// `trial` runs in `cell`, whichever did before: other processes make it at the same time.
    pub fn seize(&mut self, cell: Cell, trial: TrialId) {
        self.claims[cell.0] = Some(Claim { holder: Holder::Trial(trial), left: PATIENCE });
    }

    /// `trial` has decided, or does not run any more.
    pub fn end(&mut self, cell: Cell, trial: TrialId) {
        if self.runs(cell, trial) {
            self.claims[cell.0] = None;
        }
    }

    /// A peer tries something on the next transfers in `cell`. `trial` and those that have not begun wait until so many transfers were refused;
    /// another that runs already goes on.
    pub fn yield_to_peer(&mut self, cell: Cell, trial: TrialId, transfers: u32) {
        let is_free = self.claims[cell.0].is_none_or(|claim| claim.holder == Holder::Peer);
        if is_free || self.runs(cell, trial) {
            self.claims[cell.0] = Some(Claim { holder: Holder::Peer, left: transfers });
        }
    }

    /// Whether `trial` runs in `cell`.
    pub fn runs(&self, cell: Cell, trial: TrialId) -> bool {
        self.claims[cell.0].is_some_and(|claim| claim.holder == Holder::Trial(trial))
    }
}

/// The coordinator that all tables of trials of a process share. Another one by default.
#[derive(Clone, Debug, Default)]
pub struct SharedCoordinator(Rc<RefCell<Coordinator>>);

impl SharedCoordinator {
    /// Asks the coordinator.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&mut Coordinator) -> T) -> T {
        ask(&mut self.0.borrow_mut())
    }

    /// The number of a new table of trials.
    pub(crate) fn new_table(&self) -> u64 {
        self.with(|coordinator| {
            coordinator.tables += 1;
            coordinator.tables
        })
    }
}

#[cfg(test)]
mod tests;
