//! Whether the program does anything between posting receives and waiting for them.
//!
//! A receive is published so that its message comes while the program computes. One that only posts a few receives and then
//! waits for them has nothing from that: its short messages come in packets as soon as it waits, and each publication would
//! only be taken back. What it did the last times tells.

use crate::rules;
use crate::streak::Streak;

/// The program has computed when more nanoseconds than these pass between two receives, or before it waits. Windows that are posted in a
/// loop stay below it; with 5 us, programs that compute for 1.5 us while 8 or 16 KiB come were taken for such (an AMD EPYC).
const GAP: u64 = 500;

/// So often must it have waited at once, one time after the other.
const TIMES: u32 = 4;

/// Once it has, or has computed as often, the clock is read in every so many rounds only: that takes 25 ns, several times a message (an EPYC, in
/// a virtual machine). No round length that programs are likely to repeat.
const WATCHED: u32 = 7;

/// What the program does between posting receives and waiting for them.
#[derive(Debug)]
pub struct Habits {
    /// A round is under way: the program has posted a receive, or has left a wait while some were posted.
    open: bool,
    /// When it did that last, if this round is watched.
    posted: Option<u64>,
    /// The library is still at that, or at a send.
    starting: bool,
    /// It waited at once.
    at_once: Streak,
    /// It computed before, and whether it has in this round.
    computed: Streak,
    computes: bool,
    /// Rounds since one was watched.
    unwatched: u32,
    /// Sends were started before the round that is about to begin.
    early: bool,
    /// What it has done since it began to post receives, and did the last time.
    round: Posted,
    last: Posted,
}

#[derive(Clone, Copy, Debug, Default)]
struct Posted {
    posted: u32,
    /// Sends, which were started in between or before.
    sends: bool,
    /// The first of them before.
    sends_first: bool,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            open: false,
            posted: None,
            starting: false,
            at_once: Streak::of(TIMES),
            computed: Streak::of(TIMES),
            computes: false,
            unwatched: 0,
            early: false,
            round: Posted::default(),
            last: Posted::default(),
        }
    }
}

impl Habits {
    /// A receive is posted at `now`, in nanoseconds. True when the program most likely waits for it at once.
    pub fn post(&mut self, now: impl FnOnce() -> u64) -> bool {
        let watched = if self.open { self.posted.is_some() } else { self.begin() };
        self.round.posted += 1;
        if watched {
            let now = now();
            self.see(now);
            (self.posted, self.starting) = (Some(now), true);
        }
        self.at_once.holds()
    }

    /// A round begins: true if it is watched.
    fn begin(&mut self) -> bool {
        let sends_first = core::mem::take(&mut self.early);
        self.last = core::mem::replace(&mut self.round, Posted { posted: 0, sends: sends_first, sends_first });
        self.open = true;
        let known = self.at_once.holds() || self.computed.holds();
        self.unwatched = if known { (self.unwatched + 1) % WATCHED } else { 0 };
        self.unwatched == 0
    }

    /// The program begins a send, which may have to be copied at once: `later` a long one that it waits for later.
    #[inline]
    pub fn send(&mut self, later: bool, now: impl FnOnce() -> u64) {
        self.round.sends |= self.open;
        self.early |= later && !self.open;
        if self.posted.is_some() {
            self.see(now());
            self.starting = true;
        }
    }

    /// The receive has been posted, or the send begun: what that took is not the program's time. Where its memory lies may have been
    /// asked of the kernel.
    #[inline]
    pub fn is_started(&mut self, now: impl FnOnce() -> u64) {
        if core::mem::take(&mut self.starting) {
            self.posted = Some(now());
        }
    }

    /// The program most likely exchanges messages of one length with its peers. Where it computes before it waits, those that are not `short` had better be
    /// copied while the other side computes; of short ones the copy takes less than what it costs to write to memory that the other core has in its
    /// cache: on a Xeon 8 to 64 KiB that are written anew cost either side 1.2 to 6.4 us so, else 2.3 to 8.5.
    #[inline]
    pub fn exchanges_such(&self, short: impl FnOnce() -> bool) -> bool {
        self.exchanges() || (short() && self.exchanges_and_computes())
    }

    /// The program most likely sends to those from which it receives, and then waits at once for all of that.
    #[inline]
    pub fn exchanges(&self) -> bool {
        self.at_once.holds() && self.sends_as_well() && rules::HABITS.applies()
    }

    /// It most likely does the same, but computes before it waits.
    #[inline]
    fn exchanges_and_computes(&self) -> bool {
        self.computed.holds() && self.sends_as_well() && rules::HABITS.applies()
    }

    /// Receives are posted, or about to be, in a round in which the program most likely sends as well.
    #[inline]
    fn sends_as_well(&self) -> bool {
        if self.open { self.last.sends } else { self.round.sends_first }
    }

    /// It most likely waits for what it posts at once.
    #[inline]
    pub fn waits_at_once(&self) -> bool {
        self.at_once.holds() && rules::HABITS.is_on()
    }

    /// It most likely waits for one receive at a time.
    #[inline]
    pub fn waits_for_one(&self) -> bool {
        self.open && self.at_once.holds() && self.last.posted == 1
    }

    /// The program begins to wait for requests.
    #[inline]
    pub fn wait(&mut self, now: impl FnOnce() -> u64) {
        if !self.open && core::mem::take(&mut self.early) {
            // What was started was not followed by receives.
            self.round.sends_first = false;
        }
        if self.posted.is_some() {
            self.see(now());
            self.at_once.note(true);
            self.computed.note(core::mem::take(&mut self.computes));
        }
    }

    /// The program goes on after that, while receives are still posted, or none.
    #[inline]
    pub fn go_on(&mut self, receiving: bool, now: impl FnOnce() -> u64) {
        self.open &= receiving;
        if self.posted.is_some() {
            self.posted = receiving.then(now);
        }
    }

    /// The program has looked for something that is not there, and goes on.
    #[inline]
    pub fn look(&mut self) {
        if self.open {
            *self = Habits::default();
        }
    }

    fn see(&mut self, now: u64) {
        if self.posted.is_some_and(|posted| now.saturating_sub(posted) > GAP) {
            self.at_once.note(false);
            self.computes = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with its clock.
    struct Program(Habits, u64);

    impl Program {
        fn new() -> Program {
            Program(Habits::default(), 0)
        }

        /// Posts a receive and waits after `between`, again after `rest` if the receive is still posted then. True when it would
        /// have been left unpublished.
        fn receives(&mut self, between: u64, rest: Option<u64>) -> bool {
            let left = self.0.post(|| self.1);
            self.1 += between;
            self.0.wait(|| self.1);
            self.0.go_on(rest.is_some(), || self.1);
            if let Some(rest) = rest {
                self.1 += rest;
                self.0.wait(|| self.1);
                self.0.go_on(false, || self.1);
            }
            self.1 += 10 * GAP;
            left
        }
    }

    #[test]
    fn who_waits_at_once_a_few_times_is_left() {
        let mut program = Program::new();
        let left: Vec<_> = (0..6).map(|_| program.receives(GAP / 2, None)).collect();
        assert_eq!(left, [false, false, false, false, true, true]);
    }

    #[test]
    fn who_computes_is_published_from_then_on() {
        let mut program = Program::new();
        (0..6).for_each(|_| _ = program.receives(GAP / 2, None));
        let left: Vec<_> = (0..20).map(|_| program.receives(2 * GAP, None)).collect();
        let known = left.iter().position(|left| !left).unwrap();
        assert!((1..=WATCHED as usize).contains(&known), "these could not be known: {known}");
        assert!(!left[known..].contains(&true));
    }

    #[test]
    fn who_computes_all_the_time_is_seldom_timed_and_left_soon_after() {
        let mut program = Program::new();
        let mut reads = 0;
        for _ in 0..100 {
            program.0.post(|| {
                reads += 1;
                program.1
            });
            program.1 += 2 * GAP;
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
        }
        assert!(reads <= TIMES + 100 / WATCHED + 1, "{reads}");
        let left: Vec<_> = (0..20).map(|_| program.receives(GAP / 2, None)).collect();
        let known = left.iter().position(|&left| left).unwrap();
        assert!(known <= (WATCHED + TIMES) as usize, "{left:?}");
        assert!(!left[known..].contains(&false), "{left:?}");
    }

    #[test]
    fn who_computes_after_waiting_for_something_else_is_published() {
        let mut program = Program::new();
        (0..20).for_each(|_| assert!(!program.receives(GAP / 2, Some(2 * GAP))));
    }

    #[test]
    fn who_looks_is_published() {
        let mut program = Program::new();
        (0..6).for_each(|_| _ = program.receives(GAP / 2, None));
        assert!(program.0.post(|| program.1));
        program.0.look();
        assert!(!program.0.post(|| program.1));
    }

    #[test]
    fn what_posting_takes_does_not_count() {
        let mut program = Program::new();
        for round in 0..6 {
            assert_eq!(program.0.post(|| program.1), round >= TIMES, "round {round}");
            program.1 += 3 * GAP;
            program.0.is_started(|| program.1);
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
        }
    }

    #[test]
    fn what_sends_take_does_not_count_but_what_is_between_them_does() {
        let mut program = Program::new();
        let mut left = Vec::new();
        for between in [[GAP / 2; 10], [2 * GAP; 10]].concat() {
            left.push(program.0.post(|| program.1));
            program.0.is_started(|| program.1);
            for _ in 0..3 {
                program.1 += between;
                program.0.send(false, || program.1);
                program.1 += 10 * GAP;
                program.0.is_started(|| program.1);
            }
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
            program.1 += 10 * GAP;
        }
        assert!((0..=10).all(|round| left[round] == (round >= TIMES as usize)), "{left:?}");
        assert!(left[10 + WATCHED as usize..].iter().all(|left| !left), "{left:?}");
    }

    #[test]
    fn who_sends_between_posting_and_waiting_exchanges() {
        let mut program = Program::new();
        for round in 0..20 {
            program.0.post(|| program.1);
            let (exchanges, sends) = (program.0.exchanges(), round < 10);
            assert_eq!(exchanges, (TIMES..=10).contains(&round), "round {round}");
            if sends {
                program.0.send(false, || program.1);
            }
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
            assert!(!program.0.exchanges(), "nothing is posted");
        }
    }

    #[test]
    fn who_sends_before_posting_exchanges_as_well() {
        for computes in [false, true] {
            let mut program = Program::new();
            let mut known = Vec::new();
            for round in 0..20 {
                program.0.send(true, || program.1);
                program.0.is_started(|| program.1);
                let exchanges =
                    |habits: &Habits| if computes { habits.exchanges_and_computes() } else { habits.exchanges() };
                let first = exchanges(&program.0);
                if round < 10 {
                    program.0.post(|| program.1);
                    program.0.is_started(|| program.1);
                    assert_eq!(exchanges(&program.0), first, "round {round}");
                }
                program.1 += if computes { 2 * GAP } else { GAP / 2 };
                program.0.wait(|| program.1);
                program.0.go_on(false, || program.1);
                known.push(first);
            }
            let expected: Vec<_> = (0..20).map(|round| (TIMES..=10).contains(&round)).collect();
            assert_eq!(known, expected, "computes: {computes}");
        }
    }

    #[test]
    fn who_answers_does_not_exchange() {
        let mut program = Program::new();
        for round in 0..20 {
            program.0.send(true, || program.1);
            program.0.is_started(|| program.1);
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
            program.0.post(|| program.1);
            program.0.is_started(|| program.1);
            assert!(!program.0.exchanges(), "round {round}");
            assert_eq!(program.0.waits_for_one(), round >= TIMES, "round {round}");
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
        }
    }

    #[test]
    fn who_posts_several_receives_does_not_wait_for_one() {
        let mut program = Program::new();
        for round in 0..20 {
            program.0.post(|| program.1);
            assert_eq!(program.0.waits_for_one(), (TIMES..=10).contains(&round), "round {round}");
            if round >= 10 {
                program.0.post(|| program.1);
            }
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
        }
    }

    #[test]
    fn sends_without_receives_are_not_looked_at() {
        let mut habit = Habits::default();
        habit.send(false, || unreachable!("nobody needs the time"));
        habit.is_started(|| unreachable!("nobody needs the time"));
    }

    #[test]
    fn receives_that_take_long_to_post_are_published() {
        let mut program = Program::new();
        (0..6).for_each(|_| _ = program.receives(GAP / 2, None));
        let mut left = Vec::new();
        for _ in 0..10 {
            program.0.post(|| program.1);
            program.1 += 2 * GAP;
            left.push(program.0.post(|| program.1));
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
        }
        assert!(left[0] && left[WATCHED as usize..].iter().all(|left| !left), "{left:?}");
    }
}
