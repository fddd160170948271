//! Whether the program does anything between posting receives and waiting for them.
//!
//! A receive is published so that its message comes while the program computes. One that only posts a few receives and then
//! waits for them has nothing from that: its short messages come in packets as soon as it waits, and each publication would
//! only be taken back. What it did the last times tells.
//!
//! In the same way a nonblocking send of a long message leaves the copying to a receiver that waits, so that the program can compute;
//! one that starts its sends and then waits for them has nothing from that either.

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

/// What the program does.
#[derive(Debug, Default)]
pub struct Habits {
    /// After it has posted receives.
    receives: Habit,
    /// After it has started long sends that it can wait for later.
    sends: Habit,
}

impl Habits {
    /// A receive is posted at `now`, in nanoseconds. True when the program most likely waits for it at once.
    pub fn post(&mut self, now: impl FnOnce() -> u64) -> bool {
        self.receives.post(now)
    }

    /// The program begins a send, which may have to be copied at once: `later` a long one that it waits for later.
    #[inline]
    pub fn send(&mut self, later: bool, now: impl Fn() -> u64) {
        self.receives.send(later, &now);
        if later {
            self.sends.post(now);
        }
    }

    /// The receive has been posted, or the send begun: what that took is not the program's time. Where its memory lies may have been
    /// asked of the kernel.
    #[inline]
    pub fn is_started(&mut self, now: impl Fn() -> u64) {
        self.receives.is_started(&now);
        self.sends.is_started(now);
    }

    /// The program most likely sends to those from which it receives, and then waits at once for all of that.
    #[inline]
    pub fn exchanges(&self) -> bool {
        self.receives.at_once.holds() && self.receives.exchanges() && rules::EXCHANGE.applies()
    }

    /// It most likely does the same, but computes before it waits.
    #[inline]
    pub fn exchanges_and_computes(&self) -> bool {
        self.receives.computed.holds() && self.receives.exchanges() && rules::EXCHANGE.applies()
    }

    /// It most likely waits for one receive at a time.
    #[inline]
    pub fn waits_for_one(&self) -> bool {
        self.receives.is_at_once() && self.receives.last.posted == 1
    }

    /// It most likely waits at once for the long sends that it starts.
    #[inline]
    pub fn waits_for_sends(&self) -> bool {
        self.sends.is_at_once() && rules::WAIT_FOR_SENDS.applies()
    }

    /// The same, for one at a time.
    #[inline]
    pub fn waits_for_one_send(&self) -> bool {
        self.sends.is_at_once() && self.sends.last.posted == 1 && rules::WAIT_FOR_SENDS.applies()
    }

    /// The program begins to wait for requests.
    #[inline]
    pub fn wait(&mut self, now: impl Fn() -> u64) {
        self.receives.wait(&now);
        self.sends.wait(now);
    }

    /// The program goes on after that, while receives are still posted, or none.
    #[inline]
    pub fn go_on(&mut self, receiving: bool, now: impl FnOnce() -> u64) {
        self.receives.go_on(receiving, now);
        self.sends.go_on(false, || unreachable!("the next send begins a round"));
    }

    /// The program has looked for something that is not there, and goes on.
    #[inline]
    pub fn look(&mut self) {
        self.receives.look();
        self.sends.look();
    }
}

/// What the program does between posting requests of a kind and waiting for them.
#[derive(Debug)]
struct Habit {
    /// A round is under way: the program has posted a request, or has left a wait while some were posted.
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
    /// Other requests were started before the round that is about to begin.
    early: bool,
    /// What it has done since it began to post receives, and did the last time.
    round: Posted,
    last: Posted,
}

#[derive(Clone, Copy, Debug, Default)]
struct Posted {
    posted: u32,
    /// Other requests, which were started in between or before.
    sends: bool,
    /// The first of them before.
    sends_first: bool,
}

impl Default for Habit {
    fn default() -> Habit {
        Habit {
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

impl Habit {
    /// A request is posted. True when the program most likely waits for it at once.
    fn post(&mut self, now: impl FnOnce() -> u64) -> bool {
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
        let sends_first = std::mem::take(&mut self.early);
        self.last = std::mem::replace(&mut self.round, Posted { posted: 0, sends: sends_first, sends_first });
        self.open = true;
        let known = self.at_once.holds() || self.computed.holds();
        self.unwatched = if known { (self.unwatched + 1) % WATCHED } else { 0 };
        self.unwatched == 0
    }

    /// See [`Habits::send`].
    #[inline]
    fn send(&mut self, later: bool, now: impl FnOnce() -> u64) {
        self.round.sends |= self.open;
        self.early |= later && !self.open;
        if self.posted.is_some() {
            self.see(now());
            self.starting = true;
        }
    }

    /// Requests are posted that the program most likely waits for at once.
    #[inline]
    fn is_at_once(&self) -> bool {
        self.open && self.at_once.holds()
    }

    /// Requests are posted, or about to be, in a round in which the program most likely starts others as well.
    #[inline]
    fn exchanges(&self) -> bool {
        if self.open { self.last.sends } else { self.round.sends_first }
    }

    /// See [`Habits::is_started`].
    #[inline]
    fn is_started(&mut self, now: impl FnOnce() -> u64) {
        if std::mem::take(&mut self.starting) {
            self.posted = Some(now());
        }
    }

    /// See [`Habits::wait`].
    #[inline]
    fn wait(&mut self, now: impl FnOnce() -> u64) {
        if !self.open && std::mem::take(&mut self.early) {
            // What was started was not followed by requests of this kind.
            self.round.sends_first = false;
        }
        if self.posted.is_some() {
            self.see(now());
            self.at_once.note(true);
            self.computed.note(std::mem::take(&mut self.computes));
        }
    }

    /// See [`Habits::go_on`]. `more`: some are still posted.
    #[inline]
    fn go_on(&mut self, more: bool, now: impl FnOnce() -> u64) {
        self.open &= more;
        if self.posted.is_some() {
            self.posted = more.then(now);
        }
    }

    /// See [`Habits::look`].
    #[inline]
    fn look(&mut self) {
        if self.open {
            *self = Habit::default();
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
    fn who_starts_several_sends_does_not_wait_for_one() {
        let mut program = Program::new();
        for round in 0..20 {
            program.0.send(true, || program.1);
            assert_eq!(program.0.waits_for_one_send(), (TIMES..=10).contains(&round), "round {round}");
            if round >= 10 {
                program.0.send(true, || program.1);
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

    #[test]
    fn who_computes_after_starting_long_sends_does_not_wait_for_them() {
        let mut program = Program::new();
        let mut waits = Vec::new();
        for between in [[GAP / 2; 10], [2 * GAP; 10]].concat() {
            for _ in 0..3 {
                program.0.send(true, || program.1);
                program.1 += 10 * GAP;
                program.0.is_started(|| program.1);
            }
            waits.push(program.0.waits_for_sends());
            program.1 += between;
            program.0.wait(|| program.1);
            program.0.go_on(false, || program.1);
            assert!(!program.0.waits_for_sends(), "none is started");
        }
        assert!((0..10).all(|round| waits[round] == (round >= TIMES as usize)), "{waits:?}");
        assert!(waits[10 + WATCHED as usize..].iter().all(|waits| !waits), "{waits:?}");
    }
}
