//! Whom this process has waited for, and for how long: who is to be called, as a state machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tern_adi::Proc;

/// Of many processes, any of which may answer, so many are called at a time: a call may make a connection, and whoever waits for all does
/// not need one to each.
const AT_A_TIME: usize = 16;

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
    /// Whom of many it has called last.
    last: Option<Proc>,
}

impl Waits {
    pub const fn new() -> Waits {
        Waits { each: BTreeMap::new(), any: None, last: None }
    }

    /// It is seen `now` that this process waits for `few`, and for any of `many`. Returns those that are to be called: all of the few that it
    /// has waited for as long as `silence`, and again after as long; of the many some others each time, until all had their turn.
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

    /// The next of many, if it is time.
    fn next_of(&mut self, now: Instant, silence: Duration, mut many: Vec<Proc>) -> Vec<Proc> {
        if many.is_empty() {
            self.any.take_if(|wait| wait.is_over(now, silence));
            return many;
        }
        let wait = self.any.get_or_insert_with(|| Wait::new(now));
        wait.seen = now;
        if !wait.is_due(now, silence) {
            return Vec::new();
        }
        many.sort_unstable();
        many.dedup();
        // Those behind the last one first.
        let behind = self.last.map_or(0, |last| many.partition_point(|&peer| peer <= last));
        many.rotate_left(behind);
        many.truncate(AT_A_TIME);
        self.last = many.last().copied();
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

    #[test]
    fn all_of_many_have_their_turn() {
        let many: Vec<Proc> = (0..40).rev().chain(10..20).collect();
        let called = wait(&mut Waits::new(), Instant::now(), 130, &[], &many);
        let turn = |from: Proc, to: Proc| (from..to).collect::<Vec<_>>();
        let around = [turn(32, 40), turn(0, 8)].concat();
        assert_eq!(called, [(32, turn(0, 16)), (64, turn(16, 32)), (96, around), (128, turn(8, 24))]);
    }

    #[test]
    fn one_that_is_named_does_not_wait_for_its_turn() {
        let many: Vec<Proc> = (0..100).collect();
        let called = wait(&mut Waits::new(), Instant::now(), 33, &[99], &many);
        assert_eq!(called, [(32, [vec![99], (0..16).collect()].concat())]);
    }

    #[test]
    fn a_new_wait_begins_anew_and_goes_on_with_the_next() {
        let (mut waits, many, start) = (Waits::new(), (0..100).collect::<Vec<Proc>>(), Instant::now());
        assert_eq!(wait(&mut waits, start, 33, &[7], &many).len(), 1);
        // It waits for another one meanwhile.
        assert!(wait(&mut waits, start + Duration::from_secs(33), 17, &[8], &[]).is_empty());
        let later = start + Duration::from_secs(50);
        let called = wait(&mut waits, later, 33, &[7], &many);
        assert_eq!(called, [(32, [vec![7], (16..32).collect()].concat())]);
        // A short pause is none.
        let called = wait(&mut waits, later + Duration::from_secs(33 + 10), 32, &[], &many);
        assert_eq!(called, [(21, (32..48).collect::<Vec<Proc>>())]);
    }
}
