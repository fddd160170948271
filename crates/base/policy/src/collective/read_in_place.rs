//! What members have learned of reading each other's memory where it lies.
//!
//! Where the program writes its data anew each time, its lines make two journeys between the cores: to those who read them, and back to
//! who writes them. In lines or messages they make one, and are copied twice: on a Xeon an allgather of 64 KiB takes 31 us in place then
//! and 11 us in messages; of data that stays as it is 3.5 and 3.8 us. No member can know which of the two it is, so all try both.

use super::names::Collective;
use crate::rounds::Kinds;
use crate::trial::JointTrial;
use crate::{Cell, SharedBackoff, SharedCoordinator, rules};
use core::cell::RefCell;
use core::ops::RangeInclusive;

/// What all members of a communicator have learned, in the same calls, of reading in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// Each tells where its memory lies, and if all do, they read it.
    Ask,
    /// They do not ask: some memory was not within reach lately (the rule `read-in-place`).
    Rest,
    /// The other way is tried, or has proved quicker (the rule `read-in-place`).
    Otherwise,
}

/// What a member has measured, nanoseconds by way, as it is told: in place, and otherwise.
pub type Measured = [u64; 2];

/// Calls that go by without asking.
const PAUSES: RangeInclusive<u32> = 1..=64;

/// What members learn: for each collective, whether it pays to ask where memory lies (after each answer in vain, twice as many calls go by
/// without), and for each power of two of its blocks' length, whether reading in place is quicker. All members have the same.
#[derive(Debug, Default)]
pub struct ReadInPlace {
    tries: [SharedBackoff; Collective::ALL.len()],
    /// Way 0 is in place.
    trials: RefCell<Kinds<JointTrial>>,
}

impl ReadInPlace {
    /// Nothing was tried so far.
    pub fn new(coordinator: &SharedCoordinator) -> ReadInPlace {
        ReadInPlace { tries: Default::default(), trials: RefCell::new(Kinds::new(coordinator)) }
    }

    /// A call begins at `now`, in nanoseconds, in which members [may read in place](super::may_read_in_place) blocks of `len` bytes.
    pub fn begin(&self, what: Collective, len: usize, now: impl FnOnce() -> u64) -> InPlace {
        if !self.is_due(what) {
            return InPlace::Rest;
        }
        let mut trials = self.trials.borrow_mut();
        let number = what as usize * usize::BITS as usize + len.max(1).ilog2() as usize;
        let otherwise = rules::READ_IN_PLACE.departs(|| {
            let (trial, same) = trials.begin_joint(number, Cell::of(len));
            trial.way(now, same) == Some(1)
        });
        if otherwise { InPlace::Otherwise } else { InPlace::Ask }
    }

    fn is_due(&self, what: Collective) -> bool {
        self.tries[what as usize].is_due() || !rules::READ_IN_PLACE.applies()
    }

    /// What this member has measured, of the call that began last.
    pub fn measured(&self) -> Measured {
        self.trials.borrow_mut().last().map_or([u64::MAX; 2], |trial| trial.measured())
    }

    /// All members have told whether their memory is within reach, and if it is, what they have measured. It may be for this call to
    /// decide.
    pub fn end(&self, what: Collective, measured: Option<impl Iterator<Item = Measured>>) {
        self.tries[what as usize].note(measured.is_some(), PAUSES);
        let mut trials = self.trials.borrow_mut();
        let Some(trial) = trials.last().filter(|trial| trial.is_due()) else { return };
        let add = |[a, b]: Measured, [c, d]: Measured| [a.saturating_add(c), b.saturating_add(d)];
        trial.decide(measured.map(|measured| measured.fold([0; 2], add)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_answers_in_vain_calls_go_by_without_asking() {
        let learned = ReadInPlace::default();
        let asked = |shared: bool| {
            let due = learned.is_due(Collective::Alltoall);
            if due {
                learned.tries[Collective::Alltoall as usize].note(shared, PAUSES);
            }
            due
        };
        let pauses: Vec<usize> = (0..10).map(|_| (0..).position(|_| asked(false)).expect("asked some time")).collect();
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 64, 64]);
        assert!(learned.is_due(Collective::Allgather), "each collective by itself");
        while !asked(true) {}
        assert!((0..10).all(|_| asked(true)));
        assert!(asked(false) && !asked(true) && asked(true));
    }

    /// Members whose calls take so long in place and otherwise; which of a thousand calls went in place.
    fn calls(took: [u64; 2]) -> Vec<bool> {
        let members: [ReadInPlace; 2] = Default::default();
        let mut now = 0;
        let mut call = || {
            let ways = members.each_ref().map(|learned| learned.begin(Collective::Allgather, 20_000, || now));
            assert_eq!(ways[0], ways[1], "all go the same way");
            if ways[0] == InPlace::Ask {
                let told = members.each_ref().map(ReadInPlace::measured);
                members.iter().for_each(|learned| learned.end(Collective::Allgather, Some(told.into_iter())));
            }
            now += took[usize::from(ways[0] != InPlace::Ask)];
            ways[0] == InPlace::Ask
        };
        (0..1000).map(|_| call()).collect()
    }

    #[test]
    fn all_members_keep_to_the_quicker_way() {
        let [in_place, otherwise] = [[1000, 2000], [2000, 1000]].map(calls);
        let last = |calls: &[bool]| calls[900..].iter().filter(|&&in_place| in_place).count();
        assert!(last(&in_place) > 80 && last(&otherwise) < 20, "{} {}", last(&in_place), last(&otherwise));
    }
}
