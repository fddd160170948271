//! Whether the lines of a packet had better be passed to the cache that its receiver shares with its sender: the rule `demote`.
//!
//! Between two cores that share nothing else, the receiver has them in half of the time. Between two that share more (a line took 30 ns instead of
//! 145, so most likely threads of one core) a message takes twice as long; and in a virtual machine no process knows where it runs, nor for how long.
//! So both ways are tried on the program's own messages.

use crate::rules;
use crate::trial::Trial;
use core::cell::{Cell, RefCell};

/// Kinds of packets by their length, each with a trial of its own: what a program does between them may depend on how long they are.
const KINDS: usize = 3;

/// What is known of one peer.
#[derive(Debug)]
pub struct Demotion {
    /// The processor has the instruction, and the rule is on.
    able: bool,
    trials: RefCell<Trials>,
    /// What was done the last time.
    pays: Cell<bool>,
}

#[derive(Debug)]
struct Trials {
    /// The longest packets of each kind but the last.
    longest: [usize; KINDS - 1],
    trials: [Trial; KINDS],
    /// The kind of the last packet.
    kind: usize,
}

impl Demotion {
    /// Of a peer of which nothing is known. `able`: the processor can pass lines on. `longest`: packets of up to so many bytes of payload have a trial
    /// of their own each.
    pub fn new(able: bool, longest: [usize; KINDS - 1]) -> Demotion {
        let able = able && rules::DEMOTE.is_on();
        let trials = Trials { longest, trials: Default::default(), kind: 0 };
        Demotion { able, trials: RefCell::new(trials), pays: Cell::new(able) }
    }

    /// Whether to pass on the lines of a packet with `len` bytes of payload, which is sent `now` and is the first since one has come back: the time
    /// from one of those to the next tells what it is worth.
    #[inline]
    pub fn is_for(&self, len: usize, now: impl FnOnce() -> u64) -> bool {
        self.able && self.try_for(len, now)
    }

    fn try_for(&self, len: usize, now: impl FnOnce() -> u64) -> bool {
        let pays = self.trials.borrow_mut().way(len, now) == 0;
        if pays {
            rules::DEMOTE.count_one();
        }
        self.pays.set(pays);
        pays
    }

    /// What was done the last time, or would be the first time.
    #[inline]
    pub fn pays(&self) -> bool {
        self.pays.get()
    }
}

impl Trials {
    /// The way of a packet of `len` bytes. Way 0 passes lines on.
    fn way(&mut self, len: usize, now: impl FnOnce() -> u64) -> usize {
        let kind = self.longest.iter().take_while(|&&longest| len > longest).count();
        let same = core::mem::replace(&mut self.kind, kind) == kind;
        self.trials[kind].way(now, same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends messages of these lengths in turn, which take so long each, passed on or not; returns how many of the last 1000 were passed on.
    fn run(lens: &[usize], took: impl Fn(usize, bool) -> u64) -> usize {
        let demotion = Demotion::new(true, [32, 128]);
        let mut now = 0;
        let mut passed = Vec::new();
        for &len in lens.iter().cycle().take(5000) {
            let pays = demotion.is_for(len, || now);
            assert_eq!(pays, demotion.pays());
            passed.push(pays);
            now += took(len, pays);
        }
        passed[4000..].iter().filter(|&&passed| passed).count()
    }

    #[test]
    fn lines_are_passed_on_where_that_is_quicker() {
        for lens in [&[8][..], &[64], &[200], &[8, 8, 8, 8, 200, 200, 200, 200]] {
            let time = |len: usize| 100 + len as u64;
            let near = run(lens, |len, passed| time(len) * if passed { 2 } else { 1 });
            let far = run(lens, |len, passed| time(len) * if passed { 1 } else { 2 });
            assert!(near < 100, "{lens:?}: {near}");
            assert!(far > 900, "{lens:?}: {far}");
        }
    }

    #[test]
    fn they_are_where_it_makes_no_difference() {
        assert!(run(&[8], |_, _| 100) > 900);
    }

    #[test]
    fn a_processor_without_the_instruction_passes_nothing_on() {
        let demotion = Demotion::new(false, [32, 128]);
        assert!(!demotion.pays());
        assert!((0..100).all(|_| !demotion.is_for(8, || unreachable!("nothing is tried"))));
    }
}
