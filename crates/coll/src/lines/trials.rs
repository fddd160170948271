//! Whether what could be read where it lies is read so.
//!
//! Where the program writes its data anew each time, its lines make two journeys between the cores: to those who read them, and back to
//! who writes them. In lines or messages they make one, and are copied twice: on a Xeon an allgather of 64 KiB takes 31 us in place then
//! and 11 us in messages; of data that stays as it is 3.5 and 3.8 us. No member can know which of the two it is, so all try both.

use super::Kind;
use std::cell::RefCell;
use tern_mcm::Group;
use tern_node::clock;
use tern_policy::{Cell, JointTrial, Kinds, rules};

/// A trial for each operation and power of two of its blocks' length. Way 0 is in place.
#[derive(Debug, Default)]
pub struct Trials(RefCell<Kinds<JointTrial>>);

/// What a member has measured, nanoseconds by way, as it is told.
pub type Measured = [u64; 2];

impl Trials {
    /// Whether the collective that begins now is to be read in place, and what this member has measured.
    pub fn begin(&self, kind: Kind, len: usize) -> Option<Measured> {
        let mut trials = self.0.borrow_mut();
        let number = kind as usize * usize::BITS as usize + len.max(1).ilog2() as usize;
        let in_place = !rules::READ_IN_PLACE.departs(|| {
            let (trial, same) = trials.begin_joint(number, Cell::of(len));
            trial.way(clock::nanoseconds, same) == Some(1)
        });
        in_place.then(|| trials.of(number).measured())
    }

    /// All members' memory is shared, and this is what they have told; `None` if some is not. It may be for this collective to decide.
    pub fn end(&self, measured: Option<impl Iterator<Item = Measured>>) {
        let mut trials = self.0.borrow_mut();
        let Some(trial) = trials.last().filter(|trial| trial.is_due()) else { return };
        let add = |[a, b]: Measured, [c, d]: Measured| [a.saturating_add(c), b.saturating_add(d)];
        trial.decide(measured.map(|measured| measured.fold([0; 2], add)));
    }
}

/// The trials of a root, which decides alone whether a collective goes by a region.
#[derive(Debug, Default)]
pub struct Rooted(RefCell<tern_policy::Trials>);

impl Rooted {
    /// Whether the collective that begins now goes by a region; `presumed`: that is expected to be better.
    pub fn way(&self, kind: Kind, group: &Group, presumed: bool) -> bool {
        let power = group.len.max(1).ilog2() as usize;
        let length = kind as usize * usize::BITS as usize + power;
        let number = length << 2 | usize::from(group.shared) << 1 | usize::from(presumed);
        let other =
            rules::REGION.departs(|| self.0.borrow_mut().way(number, Cell::of(group.len), clock::nanoseconds) == 1);
        presumed != other
    }
}
