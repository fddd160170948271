//! Whom this process has waited for, and for how long: who is to be called, as a state machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tern_adi::Proc;

/// Looks in which all of many processes are called, any of which may answer: three quarters of the time that the wait has lasted before. A call
/// may make a connection, so they are not called all at once. One that cannot call here gives up what it has sent after twice that time.
const LOOKS: usize = super::LOOKS as usize * 3 / 4;
/// Most that one look calls. Where all processes of a large job wait for any other, each would come to hold a connection to all within seconds.
const MOST: usize = 6;

/// A wait that goes on.
struct Wait {
    /// Since when, or since somebody was called last.
    since: Instant,
    /// When it was seen last.
    seen: Instant,
}

impl Wait {
    fn new(now: Instant) -> Wait {
        Wait { since: now, seen: now }
    }

    /// Looks have not seen it for long. A program may look for several in turn; one that does not look at all meanwhile waits on.
    fn is_over(&self, now: Instant, silence: Duration) -> bool {
        now - self.seen >= silence / 2
    }

    /// Whether it has lasted for `silence`, from now on once more.
    fn is_due(&mut self, now: Instant, silence: Duration) -> bool {
        let due = now - self.since >= silence;
        if due {
            self.since = now;
        }
        due
    }
}

/// The waits of this process.
pub struct Waits {
    /// For one process, or for any of few.
    each: BTreeMap<Proc, Wait>,
    /// For any of many.
    any: Option<Wait>,
    /// How many of them it has called since it was due, while a round of calls goes on.
    called: Option<usize>,
    /// Whom of many it has called last.
    last: Option<Proc>,
}

impl Waits {
    pub const fn new() -> Waits {
        Waits { each: BTreeMap::new(), any: None, called: None, last: None }
    }

    /// It is seen `now` that this process waits for `few`, and for any of `many`. Returns those that are to be called: all of the few that it
    /// has waited for as long as `silence`, and again after as long; of the many, from then on, some others each time, until all had their turn.
    pub fn see(
        &mut self, now: Instant, silence: Duration, few: impl IntoIterator<Item = Proc>, many: Vec<Proc>,
    ) -> Vec<Proc> {
        for peer in few {
            self.each.entry(peer).or_insert_with(|| Wait::new(now)).seen = now;
        }
        self.each.retain(|_, wait| !wait.is_over(now, silence));
        let due = self.each.iter_mut().filter_map(|(&peer, wait)| wait.is_due(now, silence).then_some(peer));
        let mut called: Vec<Proc> = due.collect();
        called.extend(self.next_of(now, silence, many));
        called
    }

    /// The next of many, if it is time: some at each look until all had their turn.
    fn next_of(&mut self, now: Instant, silence: Duration, mut many: Vec<Proc>) -> Vec<Proc> {
        if many.is_empty() {
            if self.any.take_if(|wait| wait.is_over(now, silence)).is_some() {
                self.called = None;
            }
            return many;
        }
        let wait = self.any.get_or_insert_with(|| Wait::new(now));
        wait.seen = now;
        if self.called.is_none() && !wait.is_due(now, silence) {
            return Vec::new();
        }
        many.sort_unstable();
        many.dedup();
        let before = self.called.unwrap_or(0);
        let next = many.len().div_ceil(LOOKS).min(MOST).min(many.len().saturating_sub(before));
        let ends = before + next >= many.len();
        self.called = (!ends).then_some(before + next);
        if ends {
            wait.since = now;
        }
        // Those behind the last one first.
        let behind = self.last.map_or(0, |last| many.partition_point(|&peer| peer <= last));
        many.rotate_left(behind);
        many.truncate(next);
        self.last = many.last().copied().or(self.last);
        many
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE: Duration = Duration::from_secs(32);

    /// Waits for so many seconds, and looks every second. Returns who was called, and after how many seconds.
    fn wait(waits: &mut Waits, from: Instant, seconds: u64, few: &[Proc], many: &[Proc]) -> Vec<(u64, Vec<Proc>)> {
        let look = |second| {
            let called = waits.see(from + Duration::from_secs(second), SILENCE, few.iter().copied(), many.to_vec());
            (second, called)
        };
        (0..seconds).map(look).filter(|(_, called)| !called.is_empty()).collect()
    }

    #[test]
    fn who_is_awaited_is_called_again_and_again() {
        let called = wait(&mut Waits::new(), Instant::now(), 70, &[5, 3, 5], &[]);
        assert_eq!(called, [(32, vec![3, 5]), (64, vec![3, 5])]);
    }

    /// Those of a round that begins behind `last`: when each was called, if the round has begun after so many seconds.
    fn round(many: u64, begun: u64, last: Proc) -> Vec<(u64, Proc)> {
        let each = many.div_ceil(LOOKS as u64).min(MOST as u64);
        (0..many).map(|place| (begun + place / each, (u64::from(last) + 1 + place) as Proc % many as Proc)).collect()
    }

    fn flat(called: Vec<(u64, Vec<Proc>)>) -> Vec<(u64, Proc)> {
        called.into_iter().flat_map(|(second, peers)| peers.into_iter().map(move |peer| (second, peer))).collect()
    }

    #[test]
    fn all_of_many_have_their_turn_before_their_messages_are_given_up() {
        for number in [3, 40, (LOOKS * MOST) as Proc] {
            let many: Vec<Proc> = (0..number).rev().chain(1..2).collect();
            let called = flat(wait(&mut Waits::new(), Instant::now(), 2 * SILENCE.as_secs(), &[], &many));
            assert_eq!(called, round(number.into(), 32, number - 1));
            assert!(called.iter().all(|&(second, _)| second < 32 + 24));
        }
    }

    #[test]
    fn a_large_job_is_not_called_in_a_storm() {
        let many: Vec<Proc> = (0..1000).collect();
        let called = wait(&mut Waits::new(), Instant::now(), 32 + 1000 / MOST as u64 + 1, &[], &many);
        assert!(called.iter().all(|(_, peers)| peers.len() <= MOST));
        assert_eq!(flat(called), round(1000, 32, 999));
    }

    #[test]
    fn many_are_called_again_after_as_long() {
        let many: Vec<Proc> = (0..40).collect();
        let called = flat(wait(&mut Waits::new(), Instant::now(), 32 + 19 + 32 + 20, &[], &many));
        let first = round(40, 32, 39);
        let end = first.last().unwrap().0;
        assert_eq!(called, [first, round(40, end + 32, 39)].concat());
    }

    /// A program that computes for long between its looks.
    #[test]
    fn who_looks_late_calls_no_more_at_once() {
        let (mut waits, start, many) = (Waits::new(), Instant::now(), (0..40).collect::<Vec<Proc>>());
        assert!(waits.see(start, SILENCE, [], many.clone()).is_empty());
        assert_eq!(waits.see(start + 5 * SILENCE, SILENCE, [], many.clone()), [0, 1]);
        assert_eq!(waits.see(start + 9 * SILENCE, SILENCE, [], many), [2, 3]);
    }

    #[test]
    fn fewer_than_were_called_already_end_the_round() {
        let (mut waits, start, many) = (Waits::new(), Instant::now(), (0..40).collect::<Vec<Proc>>());
        waits.see(start, SILENCE, [], many.clone());
        (0..2).for_each(|_| _ = waits.see(start + SILENCE, SILENCE, [], many.clone()));
        assert!(waits.see(start + SILENCE, SILENCE, [], vec![1, 2, 3]).is_empty());
        assert!(waits.see(start + SILENCE * 3 / 2, SILENCE, [], many.clone()).is_empty(), "another wait");
        assert_eq!(waits.see(start + 2 * SILENCE, SILENCE, [], many), [4, 5]);
    }

    #[test]
    fn one_that_is_named_does_not_wait_for_its_turn() {
        let many: Vec<Proc> = (0..100).collect();
        let called = wait(&mut Waits::new(), Instant::now(), 33, &[99], &many);
        assert_eq!(called, [(32, vec![99, 0, 1, 2, 3, 4])]);
    }

    #[test]
    fn a_new_wait_begins_anew_and_goes_on_with_the_next() {
        let (mut waits, many, start) = (Waits::new(), (0..96).collect::<Vec<Proc>>(), Instant::now());
        assert_eq!(flat(wait(&mut waits, start, 34, &[], &many)), round(96, 32, 95)[..8]);
        // It waits for another one meanwhile.
        assert!(wait(&mut waits, start + Duration::from_secs(34), 17, &[8], &[]).is_empty());
        let later = start + Duration::from_secs(51);
        assert_eq!(flat(wait(&mut waits, later, 34, &[], &many)), round(96, 32, 7)[..8]);
        // A short pause is none.
        let called = waits.see(later + Duration::from_secs(33 + 10), SILENCE, [], many);
        assert_eq!(called, (16..20).collect::<Vec<Proc>>());
    }
}
