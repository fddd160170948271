//! The trial: which of two ways is better, found out on real transfers.
//!
//! What a transfer costs depends on where the program's data lies in which cache, which no
//! calibration knows. So where two ways are close, both are tried on the program's own transfers, and
//! what counts is how soon the next transfer of that size comes: that holds all that the way costs,
//! at both processes, whatever the program does in between.

use core::ops::RangeInclusive;

/// Transfers in a row by one way, if the trial is not [longer](Trial::longer). The first shows the change and not the way.
pub(crate) const TURN: u32 = 6;
/// Turns of a trial: each way has half of them, so that a change of pace in the meantime hits both.
pub(crate) const TURNS: u32 = 4;
/// Transfers by the better way until the next trial, or as many times more as its turns are longer: after a trial that has found what the one
/// before it did, twice as many as before it, or eight times if the other way was [hopeless](HOPELESS). A program's first transfers are unlike
/// what follows.
const REST: RangeInclusive<u32> = 60..=1000;
const LONGER: [u32; 2] = [2, 8];
/// Of the times that two transfers in a row take the quickest decide, since whatever disturbs makes them longer: of so many the slowest, lest
/// one that came by chance counts. Two, since a sender that runs ahead of its receiver is held up at every other message.
const KEPT: usize = 3;
/// A trial, but for the first unless it is [hasty](Trial::hasty), ends after so many timed transfers by the other way if the quickest two of them
/// were slower than what counts of the better way, by one part in so many. In the first one they may touch memory that nobody has touched before,
/// which says nothing of the others.
const ENOUGH: u32 = 4;
const HOPELESS: u64 = 8;
/// The other way must be faster by one part in so many, or things stay as they are.
const MARGIN: u64 = 32;

/// A trial between way 0, which is presumed to be better, and way 1. Times are nanoseconds of any
/// clock that does not go back.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    better: usize,
    /// So many more transfers than [`TURN`] a turn has.
    longer: u32,
    /// Transfers of the trial, then of the rest after it.
    count: u32,
    /// How many the next rest has.
    rest: u32,
    last: Option<u64>,
    /// How long the last one took, in the same turn.
    one: Option<u64>,
    /// Transfers that were told a way while the trial ran, since the beginning: the number of the last one's ticket.
    told: u32,
    /// Nanoseconds of two in a row.
    quickest: [[u64; KEPT]; 2],
}

impl Trial {
    /// A trial in which `better` is presumed to be the better way.
    pub fn presuming(better: usize) -> Trial {
        Trial { better, ..Trial::default() }
    }

    /// Its turns take so many more transfers, of which only the last ones are timed: so many find what they use in no cache, or for the first
    /// time in memory, after the other way.
    pub fn longer(self, longer: u32) -> Trial {
        Trial { longer, ..self }
    }

    /// A trial that may end early as well if it is the first. Else one that others make at the same time may take this one's worse way for its
    /// own.
    pub(crate) fn hasty() -> Trial {
        Trial { rest: 1, ..Trial::default() }
    }

    /// The next transfer is one of a trial, and not of the rest after it.
    pub(crate) fn is_running(&self) -> bool {
        self.count <= self.tried()
    }

    /// Another trial runs: the transfer goes the way that is better as far as is known, and the trial begins anew later.
    pub(crate) fn give_way(&mut self) -> usize {
        self.count = 0;
        self.better
    }

    /// The number of the ticket of the transfer that was told its way last. `None`: the trial rests, and its way is not tried.
    pub(crate) fn ticket(&self) -> Option<u32> {
        (1..=self.tried()).contains(&self.count).then_some(self.told)
    }

    /// The transfer that has the ticket of this number has not gone the way that it was told: it counts for neither way. The next one has its
    /// turn, if none was told its way meanwhile.
    pub(crate) fn give_back(&mut self, number: u32) {
        if self.ticket() == Some(number) {
            self.count -= 1;
            self.told = self.told.wrapping_add(1);
            // How long it takes until the next one says nothing of a way.
            self.last = None;
        }
        // Nor do two in a row of which it is one.
        self.one = None;
    }

    fn turn(&self) -> u32 {
        TURN + self.longer
    }

    /// The transfers of a trial.
    fn tried(&self) -> u32 {
        self.turn() * TURNS
    }

    fn rests(&self) -> RangeInclusive<u32> {
        REST.start() * self.turn() / TURN..=REST.end() * self.turn() / TURN
    }

    /// The way for a transfer that begins at `now`, which is asked for only while ways are tried: a clock takes 25 ns. `same`: the transfer
    /// before it was one of this trial as well, so that the time since then says something.
    pub fn way(&mut self, now: impl FnOnce() -> u64, same: bool) -> usize {
        self.next(now, same, true).unwrap_or_else(|| self.decide(self.clearly_measured()))
    }

    /// The same; `None` when it is to be decided first. `early`: that may be before the trial has come to its end.
    fn next(&mut self, now: impl FnOnce() -> u64, same: bool, early: bool) -> Option<usize> {
        let tried = self.tried();
        if self.count > tried {
            self.count = if self.count < tried + self.rest { self.count + 1 } else { 0 };
            return Some(self.better);
        }
        if self.count < tried {
            let now = now();
            self.note(now, same);
            self.last = Some(now);
            if early && self.count % self.turn() == self.longer + ENOUGH + 1 && self.rest > 0 && self.is_hopeless() {
                self.count = tried;
            }
        }
        if self.count == tried {
            return None;
        }
        if self.count == 0 {
            self.quickest = [[u64::MAX; KEPT]; 2];
        }
        self.count += 1;
        self.told = self.told.wrapping_add(1);
        Some(self.of_turn(self.count - 1))
    }

    /// The way of the trial's transfer number `count`: the better, the other, the other, the better.
    fn of_turn(&self, count: u32) -> usize {
        match count / self.turn() % TURNS {
            0 | 3 => self.better,
            _ => 1 - self.better,
        }
    }

    /// Takes note of how long the two transfers before this one took.
    fn note(&mut self, now: u64, same: bool) {
        let Some(before) = self.count.checked_sub(1) else { return };
        let (Some(last), true) = (self.last, same && before % self.turn() > self.longer) else {
            self.one = None;
            return;
        };
        let took = now.saturating_sub(last);
        let Some(one) = self.one.replace(took) else { return };
        let kept = &mut self.quickest[self.of_turn(before)];
        if one + took < kept[KEPT - 1] {
            kept[KEPT - 1] = one + took;
            kept.sort_unstable();
        }
    }

    /// The first of the other way's transfers took so much longer that the rest of them can be spared.
    fn is_hopeless(&self) -> bool {
        let [mine, other] = [self.better, 1 - self.better].map(|way| self.quickest[way]);
        other[KEPT - 1] < u64::MAX && is_far_above(other[0], mine[KEPT - 1])
    }

    /// What counts of each way, in nanoseconds.
    fn measured(&self) -> [u64; 2] {
        self.quickest.map(|kept| kept[KEPT - 1])
    }

    /// The same, but alike for both where the better way was slower only because it was disturbed: at its best it was the quicker one.
    fn clearly_measured(&self) -> [u64; 2] {
        let (measured, [mine, other]) = (self.measured(), [self.better, 1 - self.better]);
        let disturbed = measured[other] < measured[mine] && self.quickest[other][0] >= self.quickest[mine][0];
        if disturbed { [measured[mine]; 2] } else { measured }
    }

    /// Decides by that, and goes on in the way that is returned.
    fn decide(&mut self, measured: [u64; 2]) -> usize {
        let [mine, other] = [self.better, 1 - self.better].map(|way| measured[way]);
        self.rest = if other < mine - mine / MARGIN {
            self.better = 1 - self.better;
            *self.rests().start()
        } else {
            let rests = self.rests();
            (LONGER[usize::from(is_far_above(other, mine))] * self.rest).clamp(*rests.start(), *rests.end())
        };
        self.count = self.tried() + 1;
        self.better
    }
}

/// By which the other way is [hopeless](HOPELESS).
fn is_far_above(other: u64, mine: u64) -> bool {
    other - other / HOPELESS > mine
}

/// A trial of several processes that make the same transfers in the same order, and are to go the same way in each. So it is made to its end by
/// all, and then they tell each other what they have measured, and decide by the sum of that.
#[derive(Clone, Debug, Default)]
pub struct JointTrial {
    trial: Trial,
    due: bool,
    /// It holds its cell.
    pub(crate) holds: bool,
}

impl JointTrial {
    /// As [`Trial::way`]. `None`: it is to be [decided](JointTrial::decide) first, by a transfer of way 0.
    pub fn way(&mut self, now: impl FnOnce() -> u64, same: bool) -> Option<usize> {
        let way = self.trial.next(now, same, false);
        self.due = way.is_none();
        way
    }

    /// What this process has measured of each way, in nanoseconds; [`u64::MAX`]: nothing.
    pub fn measured(&self) -> [u64; 2] {
        self.trial.measured()
    }

    /// All have told what they have measured, which is this in sum, or way 0 has turned out not to be possible.
    pub fn decide(&mut self, measured: Option<[u64; 2]>) {
        self.trial.decide(measured.unwrap_or([u64::MAX; 2]));
        self.due = false;
    }

    /// See [`Trial::is_running`].
    pub(crate) fn is_running(&self) -> bool {
        self.trial.is_running()
    }

    /// Whether it is to be decided by the transfer that has begun last.
    pub fn is_due(&self) -> bool {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transfers of a trial.
    const TRIED: u32 = TURN * TURNS;

    #[test]
    fn what_did_not_go_as_it_was_told_counts_for_no_way() {
        let mut trial = Trial::default();
        let (mut now, mut given) = (0, 0);
        let mut ways = Vec::new();
        while ways.len() < TRIED as usize {
            let way = trial.way(|| now, true);
            // Way 1 is quicker. Every third transfer in a turn of it goes otherwise, and takes very long.
            if way == 1 && given < 4 && ways.len() % 3 == 0 {
                trial.give_back(trial.ticket().expect("it runs"));
                (now, given) = (now + 100_000, given + 1);
                continue;
            }
            now += if way == 1 { 500 } else { 1000 };
            ways.push(way);
        }
        let turn = TURN as usize;
        assert_eq!(ways.iter().filter(|&&way| way == 1).count(), 2 * turn, "its turns are made up for: {ways:?}");
        assert_eq!(trial.way(|| now, true), 1, "it has won all the same");
        assert_eq!(trial.ticket(), None, "it rests");
    }

    #[test]
    fn a_ticket_is_given_back_while_others_are_under_way() {
        let mut trial = Trial::default();
        let tickets: Vec<u32> = (0..3)
            .map(|now| {
                trial.way(|| now, true);
                trial.ticket().expect("it runs")
            })
            .collect();
        let count = trial.count;
        trial.give_back(tickets[0]);
        assert_eq!(trial.count, count, "two have gone since");
        trial.give_back(tickets[2]);
        assert_eq!(trial.count, count - 1, "the next one has its turn");
        trial.give_back(tickets[2]);
        assert_eq!(trial.count, count - 1, "given back already");
    }

    /// Runs transfers that take so long by each way; returns how many went by way 1.
    fn run(trial: &mut Trial, count: u32, mut took: impl FnMut(u32, usize) -> u64) -> u32 {
        let mut now = trial.last.map_or(0, |last| last + 10_000);
        let mut others = 0;
        for number in 0..count {
            let way = trial.way(|| now, true);
            others += way as u32;
            now += took(number, way);
        }
        others
    }

    /// Transfers of the other way in so many, if it never is the better one: `each` in a trial that takes so many, and `rest` after the first.
    fn tried(mut count: u32, trial: u32, each: u32, mut rest: u32, longer: u32) -> u32 {
        let mut others = 0;
        while let Some(left) = count.checked_sub(trial + rest) {
            (count, others) = (left, others + each);
            rest = (longer * rest).min(*REST.end());
        }
        others + count.saturating_sub(TURN).min(each)
    }

    /// The same of trials that are made to their end.
    fn tried_out(count: u32) -> u32 {
        tried(count, TRIED, TRIED / 2, *REST.start(), LONGER[0])
    }

    #[test]
    fn the_presumed_way_stays_if_it_is_better() {
        let others = run(&mut Trial::default(), 10_000, |_, way| [100, 110][way]);
        assert_eq!(others, tried_out(10_000));
    }

    #[test]
    fn what_takes_longer_is_seldom_tried() {
        let mut trial = Trial::default();
        let first = TRIED + REST.start();
        assert_eq!(run(&mut trial, first, |_, way| [100, 150][way]), TRIED / 2, "the first is made to its end");
        let others = run(&mut trial, 10_000, |_, way| [100, 150][way]);
        let each = 1 + ENOUGH;
        assert_eq!(others, tried(10_000, TURN + each, each, LONGER[1] * REST.start(), LONGER[1]));
        assert!(2 * others < tried_out(10_000));
    }

    #[test]
    fn a_wrong_start_is_put_right_soon() {
        let others = run(
            &mut Trial::default(),
            1000,
            |number, way| {
                if number < TRIED { [100, 5000][way] } else { [150, 100][way] }
            },
        );
        assert!(others > 700, "{others}");
    }

    #[test]
    fn memory_that_is_touched_for_the_first_time_does_not_decide() {
        let fresh = |number| if (TURN..TURN + 5).contains(&number) { 500 } else { 0 };
        let others = run(&mut Trial::default(), 1000, |number, way| [100, 60][way] + fresh(number));
        assert!(others > 900, "{others}");
    }

    #[test]
    fn the_other_way_is_taken_when_it_is_better() {
        let others = run(&mut Trial::default(), 10_000, |_, way| [110, 100][way]);
        assert_eq!(10_000 - others, tried_out(10_000));
    }

    #[test]
    fn disturbances_do_not_decide() {
        let others = run(&mut Trial::default(), 10_000, |number, way| {
            [100, 110][way] + if number % 3 == 0 { 5000 } else { u64::from(number % 4) }
        });
        assert_eq!(others, tried_out(10_000));
    }

    #[test]
    fn a_way_that_was_disturbed_nearly_all_the_time_is_not_given_up() {
        let others = run(&mut Trial::default(), 1000, |number, way| match way {
            0 if number < TRIED && number > 3 => 5000,
            _ => [100, 250][way],
        });
        assert!(others < 100, "{others}");
    }

    #[test]
    fn a_sender_that_runs_ahead_is_not_taken_for_a_quick_one() {
        let others = run(&mut Trial::default(), 10_000, |number, way| [100, [30, 180][number as usize % 2]][way]);
        assert_eq!(others, tried_out(10_000));
    }

    #[test]
    fn a_change_is_noticed() {
        let mut trial = Trial::default();
        run(&mut trial, 3000, |_, way| [100, 150][way]);
        let others = run(&mut trial, 5000, |_, way| [150, 100][way]);
        assert!(others > 3500, "{others}");
    }

    #[test]
    fn a_hasty_trial_ends_early() {
        let others = run(&mut Trial::hasty(), TRIED, |_, way| [100, 150][way]);
        assert_eq!(others, 1 + ENOUGH);
    }

    #[test]
    fn a_trial_that_has_given_way_is_made_to_its_end_later() {
        for before in [0, 1, TURN, TRIED - 1] {
            let mut trial = Trial::default();
            run(&mut trial, before, |_, way| [100, 5000][way]);
            assert!(trial.is_running());
            assert_eq!(trial.give_way(), 0, "the better way as far as is known");
            let others = run(&mut trial, 1000, |_, way| [100, 50][way]);
            assert!(others > 900, "what was measured before does not count: {others}");
        }
    }

    #[test]
    fn transfers_that_find_nothing_in_a_cache_do_not_count() {
        let longer = 2 * TURN;
        let took = |number: &mut u32, way: usize| {
            *number = if way == 1 { *number + 1 } else { 0 };
            [100, if *number <= longer { 300 } else { 60 }][way]
        };
        for (trial, takes_it) in [(Trial::default(), false), (Trial::default().longer(longer), true)] {
            let (mut trial, mut number) = (trial, 0);
            let others = run(&mut trial, 2000, |_, way| took(&mut number, way));
            assert_eq!(others > 1500, takes_it, "{others}");
        }
    }

    #[test]
    fn who_tries_together_goes_the_same_way() {
        // What one process measures speaks for way 0, what the other does for way 1, and more so.
        let took = |process: usize, way: usize| [[100, 110], [150, 100]][process][way];
        let (mut trials, mut now, mut others) = ([JointTrial::default(), JointTrial::default()], [0; 2], 0);
        for number in 0..1000 {
            let ways = [0, 1].map(|process| trials[process].way(|| now[process], true));
            assert_eq!(ways[0], ways[1], "transfer {number}");
            assert_eq!(ways[0].is_none(), trials[0].is_due());
            if ways[0].is_none() {
                let measured = trials.each_ref().map(JointTrial::measured);
                let sum = [0, 1].map(|way| measured[0][way] + measured[1][way]);
                trials.iter_mut().for_each(|trial| trial.decide(Some(sum)));
            }
            let way = ways[0].unwrap_or(0);
            others += way;
            (0..2).for_each(|process| now[process] += took(process, way));
        }
        assert!(others > 900 - 2 * TRIED as usize, "{others}");
    }

    #[test]
    fn what_is_not_possible_is_not_decided() {
        let mut trial = JointTrial::default();
        for _ in 0..TRIED {
            assert!(trial.way(|| 0, false).is_some());
        }
        assert_eq!(trial.way(|| 0, false), None);
        trial.decide(None);
        assert!((0..*REST.start()).all(|_| trial.way(|| 0, false) == Some(0)));
    }

    #[test]
    fn what_lies_between_does_not_count() {
        let mut trial = Trial::default();
        for number in 0..u64::from(TRIED + REST.start()) {
            // Nothing is known of how long any of them took.
            assert!(trial.way(|| number * number, false) == 0 || number < u64::from(TRIED));
        }
    }
}
