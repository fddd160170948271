//! Whether calls that wait until their buffers are free lend them.
//!
//! Such a call waits for the receiver's card then, which takes longer than a copy, unless the program waits for the
//! receiver next. So both ways are tried on the program's own calls, and that one stays after which the next call comes
//! sooner.
//!
//! What one process of a collective loses another may gain, and one alone hardly feels what it does. So they try the
//! same way at the same time: turns are counted by calls, which all processes of a collective make, and a call counts also
//! where it sends nothing.
//!
//! Calls in a row need not be alike: a process is the root of one collective and a leaf of the next. So what is compared is
//! several calls in a row, a *window*. Whatever disturbs makes it longer: so of the windows that copy the quickest counts, and
//! of those that lend the second, for lending is to be surely better. Where nothing disturbs, a small gain is enough for that.
//!
//! No more is gained than the copies take. Where that is next to nothing there is nothing to try, and what a trial found
//! would be chance.

use crate::account::Account;
use crate::coordinator::{Cell, SharedCoordinator};
use crate::rounds::Kinds;

/// Calls in a row whose time is taken. The least common multiple of usual patterns: roots in turn, neighbours.
const WINDOW: u64 = 8;
/// Calls in a row by one way: one that shows the change and not the way, and two windows.
const TURN: u64 = 1 + 2 * WINDOW;
/// Calls that copy and show whether a trial is worth it, and then those of the trial.
const FIRST: u64 = TURN;
const TRIAL: u64 = 4 * TURN;
const DECIDES: u64 = FIRST + TRIAL;
/// Calls by the better way until the next trial.
const REST: u64 = 2000;
/// A trial is worth it if what copies take is one part in so many of a call.
const LEAST: u64 = 64;

/// The two quickest windows, in nanoseconds.
type Quickest = [u64; 2];
const NONE: Quickest = [u64::MAX; 2];

/// A trial for calls of one kind. Times are nanoseconds of any clock that does not go back.
#[derive(Clone, Debug)]
struct Trial {
    lends: bool,
    calls: u64,
    /// There is something to lend.
    wanted: bool,
    /// The call with which the trial has begun, if it has.
    began: Option<u64>,
    /// It was not worth it.
    vain: bool,
    /// It holds its cell.
    holds: bool,
    /// When the window began.
    window: u64,
    copied: Quickest,
    lent: Quickest,
    /// What the calls before the trial would have saved by lending.
    saves: Account,
}

impl Default for Trial {
    fn default() -> Trial {
        Trial {
            lends: false,
            calls: 0,
            wanted: false,
            began: None,
            vain: false,
            holds: false,
            window: 0,
            copied: NONE,
            lent: NONE,
            saves: Account::default(),
        }
    }
}

impl Trial {
    /// Whether a call that begins at `now` lends.
    fn begin(&mut self, now: u64) -> bool {
        let number = self.calls;
        self.calls += 1;
        let over = self.began.is_none_or(|began| number - began > DECIDES + REST);
        if over && self.wanted && number.is_multiple_of(TURN) {
            (self.began, self.vain, self.saves) = (Some(number), false, Account::default());
            (self.copied, self.lent) = (NONE, NONE);
        }
        let Some(began) = self.began else { return false };
        let step = number - began;
        let place = step % TURN;
        if (1..=DECIDES).contains(&step) && (place == 0 || place % WINDOW == 1) {
            self.note(place, Trial::tries(number - 1, step - 1), now);
        }
        match step {
            FIRST => self.vain = self.gains_too_little(),
            DECIDES => self.lends = !self.vain && self.lent[1] < self.copied[0],
            _ => {}
        }
        if step < DECIDES { !self.vain && Trial::tries(number, step) } else { self.lends }
    }

    /// The next call is one of a trial that is worth it.
    fn is_running(&self) -> bool {
        !self.vain && self.began.is_some_and(|began| self.calls - began < DECIDES)
    }

    /// A window ends, and after the first call of a turn the first begins.
    fn note(&mut self, place: u64, lent: bool, now: u64) {
        let took = now.saturating_sub(core::mem::replace(&mut self.window, now));
        if place == 1 {
            return;
        }
        let [first, second] = if lent { &mut self.lent } else { &mut self.copied };
        (*first, *second) = (took.min(*first), took.max(*first).min(*second));
    }

    /// Whether call `number`, the trial's call number `step`, lends. Turns copy, lend, lend, copy, and so on, so that a
    /// change of pace in the meantime hits both.
    fn tries(number: u64, step: u64) -> bool {
        step >= FIRST && matches!(number / TURN % 4, 1 | 2)
    }

    /// Lending the buffer of a message of the call that is under way saves so much, if waiting costs nothing.
    fn saves(&mut self, nanoseconds: u32) {
        self.wanted = true;
        if self.began.is_some_and(|began| self.calls - began <= FIRST) {
            self.saves.save(nanoseconds);
        }
    }

    fn gains_too_little(&self) -> bool {
        !self.saves.covers(self.copied[0].saturating_mul(FIRST), LEAST * WINDOW)
    }
}

/// The trials of calls of different kinds.
#[derive(Debug, Default)]
pub struct LendingTrials(Kinds<Trial>);

impl LendingTrials {
    /// Nothing was tried so far.
    pub fn new(coordinator: &SharedCoordinator) -> LendingTrials {
        LendingTrials(Kinds::new(coordinator))
    }

    /// Whether a call of `kind` with messages of `len` bytes that begins at `now`, in nanoseconds, lends.
    pub fn begin(&mut self, kind: usize, len: usize, now: u64) -> bool {
        let (id, coordinator) = (self.0.id(kind), self.0.coordinator().clone());
        let (trial, _) = self.0.begin(kind);
        let lends = trial.begin(now);
        if trial.is_running() {
            trial.holds = true;
            // Turns are counted by calls, at all processes.
            coordinator.with(|coordinator| coordinator.seize(Cell::of(len), id));
        } else if core::mem::take(&mut trial.holds) {
            coordinator.with(|coordinator| coordinator.end(Cell::of(len), id));
        }
        lends
    }

    /// What a message of that call saves if it is lent.
    pub fn saves(&mut self, nanoseconds: u32) {
        if let Some(trial) = self.0.last() {
            trial.saves(nanoseconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes calls that take so long, copied or lent; returns how many were lent.
    fn run(trial: &mut Trial, count: u32, saves: u32, mut took: impl FnMut(u32, bool) -> u64) -> u32 {
        let (mut now, mut lent) = (trial.window, 0);
        for number in 0..count {
            let lends = trial.begin(now);
            trial.saves(saves);
            lent += u32::from(lends);
            now += took(number, lends);
        }
        lent
    }

    /// Calls of 10000 that are lent if none is but for trials.
    const TRIED: u32 = 5 * TRIAL as u32 / 2;
    /// And if all are but for trials, and before them.
    const ALL: u32 = 10_000 - TURN as u32 - 5 * (FIRST + TRIAL / 2) as u32;

    #[test]
    fn what_copies_sooner_is_copied() {
        let lent = run(&mut Trial::default(), 10_000, 50, |_, lends| if lends { 1200 } else { 1000 });
        assert_eq!(lent, TRIED);
    }

    #[test]
    fn what_lends_sooner_is_lent() {
        let lent = run(&mut Trial::default(), 10_000, 100, |_, lends| if lends { 900 } else { 1000 });
        assert_eq!(lent, ALL);
    }

    #[test]
    fn a_small_gain_is_enough_where_nothing_disturbs() {
        let lent = run(
            &mut Trial::default(),
            10_000,
            20,
            |number, lends| if lends { 985 } else { 990 } + u64::from(number % 8),
        );
        assert_eq!(lent, ALL);
    }

    #[test]
    fn what_can_gain_next_to_nothing_is_not_tried() {
        assert_eq!(run(&mut Trial::default(), 10_000, 15, |_, lends| if lends { 900 } else { 1000 }), 0);
    }

    #[test]
    fn calls_that_are_not_alike_count_together() {
        // The short ones come sooner if they are lent, but the long ones pay for that.
        for period in [2, 4, 8] {
            let took = |number, lends| match (number % period, lends) {
                (0, false) => 2000,
                (0, true) => 4000,
                (_, false) => 1000,
                (_, true) => 900,
            };
            assert_eq!(run(&mut Trial::default(), 10_000, 100, took), TRIED, "every {period}");
        }
    }

    #[test]
    fn disturbances_do_not_decide() {
        let chance = |number: u32| u64::from(number.wrapping_mul(0x9e37_79b9) >> 16);
        let disturbed = |number| if chance(number).is_multiple_of(30) { 5000 } else { chance(number) % 20 };
        let lent = run(&mut Trial::default(), 10_000, 100, |number, lends| {
            disturbed(number) + if lends { 1100 } else { 1000 }
        });
        assert!(lent <= TRIED, "{lent}");
        let lent =
            run(&mut Trial::default(), 10_000, 100, |number, lends| disturbed(number) + if lends { 900 } else { 1000 });
        assert!(lent > 7000, "{lent}");
    }

    #[test]
    fn a_change_is_noticed() {
        let mut trial = Trial::default();
        let round = (DECIDES + REST + TURN) as u32;
        assert!(run(&mut trial, round, 100, |_, lends| if lends { 900 } else { 1000 }) > 1900);
        assert!(run(&mut trial, round, 100, |_, lends| if lends { 1100 } else { 1000 }) < TRIAL as u32);
    }

    #[test]
    fn processes_try_the_same_at_the_same_time() {
        // One has something to lend later than the other.
        let (mut early, mut late) = (Trial::default(), Trial::default());
        let mut differ = 0;
        for number in 0..500 {
            let lend = [early.begin(number * 1000), late.begin(number * 1000)];
            early.saves(100);
            if number > 20 {
                late.saves(100);
            }
            differ += u32::from(lend[0] != lend[1]);
        }
        assert!(differ <= 2 * TURN as u32, "{differ}");
    }

    #[test]
    fn a_call_that_has_nothing_to_lend_is_not_tried() {
        let mut trial = Trial::default();
        assert!((0..500).all(|number| !trial.begin(number * 1000)));
    }
}
