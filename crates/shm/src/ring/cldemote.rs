//! Whether the lines of a packet had better be passed to the cache that its receiver shares with its sender.
//!
//! Between two cores that share nothing else, the receiver has them in half of the time. Between two that share more (a line took 30 ns instead of
//! 145, so most likely threads of one core) a message takes twice as long; and in a virtual machine no process knows where it runs, nor for how long.
//! So both ways are tried on the program's own messages.

use std::cell::{Cell, RefCell};
use tern_device::clock::ticks;
use tern_device::hint::can_demote;
use tern_policy::{Trial, rules};

/// The longest packets of each kind, which have a trial of their own: what a program does between them may depend on how long they are.
const KINDS: [usize; 3] = [super::FIRST_LINE, super::INLINE, usize::MAX];

/// What is known of one peer.
pub struct Cldemote {
    able: bool,
    trials: RefCell<[Trial; KINDS.len()]>,
    /// The kind of the last packet.
    kind: Cell<usize>,
    pays: Cell<bool>,
}

impl Cldemote {
    /// Of a peer of which nothing is known.
    pub fn new() -> Cldemote {
        let able = can_demote() && rules::DEMOTE.is_on();
        Cldemote { able, trials: RefCell::default(), kind: Cell::new(0), pays: Cell::new(able) }
    }

    /// Whether to pass on the lines of a packet with `len` bytes of payload, which is sent now and is the first since one has come back: the time
    /// from one of those to the next tells what it is worth.
    #[inline]
    pub fn is_for(&self, len: usize) -> bool {
        self.able && self.try_for(len, ticks)
    }

    fn try_for(&self, len: usize, now: impl FnOnce() -> u64) -> bool {
        let kind = KINDS.iter().take_while(|&&longest| len > longest).count();
        let same = self.kind.replace(kind) == kind;
        let pays = self.trials.borrow_mut()[kind].way(now, same) == 0;
        self.pays.set(pays);
        if pays {
            rules::DEMOTE.count_one();
        }
        pays
    }

    /// What was done the last time.
    #[inline]
    pub fn pays(&self) -> bool {
        self.pays.get()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Sends messages of these lengths in turn, which take so long each, passed on or not; returns how many of the last 1000 were passed on.
    fn run(lens: &[usize], took: impl Fn(usize, bool) -> u64) -> usize {
        let cldemote = Cldemote::new();
        let mut now = 0;
        let mut passed = Vec::new();
        for &len in lens.iter().cycle().take(5000) {
            passed.push(cldemote.try_for(len, || now));
            now += took(len, cldemote.pays());
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
