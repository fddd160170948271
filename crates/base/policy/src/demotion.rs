//! Whether the lines of a packet had better be passed to the cache that its receiver shares with its sender: the rule `demote`.
//!
//! Between two cores that share nothing else, the receiver has them in half of the time. Between two that share more (a line took 30 ns instead of
//! 145, so most likely threads of one core) a message takes twice as long; and in a virtual machine no process knows where it runs, nor for how long.
//! So both ways are tried on the program's own messages.

use crate::rules;
use crate::trial::Trial;

/// Kinds of packets by their length, each with a trial of its own: what a program does between them may depend on how long they are.
const KINDS: usize = 3;

/// What is known of one peer.
#[derive(Debug)]
pub struct Demotion {
    /// The longest packets of each kind but the last.
    longest: [usize; KINDS - 1],
    trials: [Trial; KINDS],
    /// The kind of the last packet.
    kind: usize,
}

impl Demotion {
    /// Of a peer of which nothing is known. `longest`: packets of up to so many bytes of payload have a trial of their own each.
    pub fn new(longest: [usize; KINDS - 1]) -> Demotion {
        Demotion { longest, trials: Default::default(), kind: 0 }
    }

    /// Whether to pass on the lines of a packet with `len` bytes of payload, which is sent `now` and is the first since one has come back: the time
    /// from one of those to the next tells what it is worth.
    pub fn is_for(&mut self, len: usize, now: impl FnOnce() -> u64) -> bool {
        let kind = self.longest.iter().take_while(|&&longest| len > longest).count();
        let same = std::mem::replace(&mut self.kind, kind) == kind;
        let pays = self.trials[kind].way(now, same) == 0;
        if pays {
            rules::DEMOTE.count_one();
        }
        pays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends messages of these lengths in turn, which take so long each, passed on or not; returns how many of the last 1000 were passed on.
    fn run(lens: &[usize], took: impl Fn(usize, bool) -> u64) -> usize {
        let mut demotion = Demotion::new([32, 128]);
        let mut now = 0;
        let mut passed = Vec::new();
        for &len in lens.iter().cycle().take(5000) {
            let pays = demotion.is_for(len, || now);
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
}
