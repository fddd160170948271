//! A further segment, which this process shares with processes of other jobs.

use crate::liveness::{Liveness, Stage};
use crate::segment::Segment;
use std::ops::Range;

/// No peer of this process.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A further segment.
pub struct Link {
    pub(crate) segment: Segment,
    /// This process's place in it.
    pub(crate) me: u32,
    /// The numbers that this process has given to its newcomers.
    pub(crate) numbers: Range<u32>,
    /// By place: the number, or [`NOBODY`] for those that are reached otherwise.
    pub(crate) number: Vec<u32>,
    /// What shows the others that this process is there.
    pub(crate) liveness: Option<Liveness>,
    /// The contacts that have been seen.
    pub(crate) known: Vec<u64>,
}

impl Link {
    /// Places of the processes that this one has come to know here.
    pub fn newcomers(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.number).filter(|&(_, &number)| number != NOBODY).map(|(place, _)| place)
    }

    pub fn is_lost(&self, place: u32) -> bool {
        self.liveness.as_ref().is_some_and(|liveness| liveness.lost.contains(&place))
    }

    /// Looks for processes that have gone without a word, if it is time; true when there are any.
    pub fn look(&mut self) -> bool {
        let Some(liveness) = &self.liveness else { return false };
        if !liveness.is_due() {
            return false;
        }
        let missed = |&place: &u32| !self.is_lost(place) && liveness.misses(&self.segment, place);
        let missed: Vec<u32> = self.newcomers().filter(missed).collect();
        self.liveness.as_mut().expect("it was there").looked(&missed);
        !missed.is_empty()
    }

    /// The next look is not too early.
    pub fn make_due(&mut self) {
        self.liveness.iter_mut().for_each(Liveness::make_due);
    }

    /// Says how far this process is, and wakes those who wait for that.
    pub fn say(&self, stage: Stage) {
        if self.liveness.is_some() {
            stage.set(&self.segment, self.me);
            self.newcomers().for_each(|place| self.segment.doorbell(place).ring());
        }
    }

    /// Says that this process needs nothing of the others, nor they of it.
    pub fn leave(&self) {
        self.say(Stage::Left);
    }
}
