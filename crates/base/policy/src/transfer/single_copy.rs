//! From how many bytes on private memory is copied once by the kernel instead of twice through shared memory, where that is not
//! left to costs: by a setting, or by a rule where nothing was measured.
//!
//! The rule is that of the papers about KNEM. Two copies of a message that fits into a cache which both processes share are
//! quick. One that does not fit had better be copied once: from `cache / (2 * processes)` bytes on, since a message has a source and a
//! target. Without a common cache one copy pays from 16 KiB on; in collectives with a root from 128 KiB on; among all, the
//! more processes the sooner.

use tern_settings::Mechanism;

use super::Situation;
use super::thresholds::SMALLEST;
use crate::costs::{PLACEMENTS, Placement, SharedCache};

/// One copy pays from here on between cores that share no cache, and nowhere sooner.
pub const APART: u64 = 16 << 10;
/// The same of a collective with a root, whatever the number of processes.
pub const ROOTED: u64 = 128 << 10;
/// The same of one in which all send to all, by the number of processes.
const AMONG_ALL: u64 = 256 << 10;

/// The rule for a message between two processes. `cache`: what they share, if that is known.
pub fn between_two(placement: Placement, cache: Option<SharedCache>) -> u64 {
    match (placement, cache) {
        (Placement::Smt | Placement::L2 | Placement::L3, Some(cache)) => cache.holds_below().max(APART),
        _ => APART,
    }
}

/// The rule for a block of a collective in which each of `processes` sends to all.
pub fn among_all(processes: u64) -> u64 {
    (AMONG_ALL / processes.max(2)).max(4096)
}

/// What holds in this process. `None`: costs decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SingleCopy {
    /// Of messages, by [`Placement`].
    pub messages: [Option<u64>; PLACEMENTS],
    /// Of blocks of collectives with a root.
    pub collectives: Option<u64>,
    /// The user has said so of messages: nothing else is tried.
    pub is_asked: bool,
    /// The same of collectives.
    pub are_collectives_asked: bool,
}

impl SingleCopy {
    /// By the lengths that the user asks for, of messages and of blocks of collectives. `guesses`: nothing was measured, so the rule says
    /// the rest, by what the cores of the job share. `cache` takes time to find out, and is asked for where it matters only.
    pub fn new(
        [messages, collectives]: [Option<u64>; 2], guesses: bool, cache: impl FnOnce() -> Option<SharedCache>,
    ) -> SingleCopy {
        let cache = if guesses && messages.is_none() { cache() } else { None };
        let rule = |placement| guesses.then(|| between_two(placement, cache));
        SingleCopy {
            messages: Placement::ALL.map(|placement| messages.or_else(|| rule(placement))),
            collectives: collectives.or(guesses.then_some(ROOTED)),
            is_asked: messages.is_some(),
            are_collectives_asked: collectives.is_some(),
        }
    }

    /// The mechanism for this message, where `asked` is that of all: a length decides of private memory of two that wait.
    pub fn mechanism(&self, asked: Mechanism, situation: &Situation) -> Mechanism {
        let private = !situation.source_shared && !situation.target_shared;
        if asked != Mechanism::Auto || !private || !situation.other_waits || situation.crowded {
            return asked;
        }
        match self.message(situation.placement) {
            None => Mechanism::Auto,
            Some(from) if situation.size >= from => Mechanism::Cma,
            Some(_) => Mechanism::Pipe,
        }
    }

    /// From how many bytes on the user has asked for one copy of private memory, where no mechanism is asked for. `None`: the user
    /// has not.
    pub fn asked_from(&self, asked: Mechanism, placement: Placement) -> Option<u64> {
        let is_asked = asked == Mechanism::Auto && self.is_asked;
        self.message(placement).filter(|_| is_asked).map(|from| from.max(SMALLEST))
    }

    /// Of messages between two so placed.
    pub fn message(&self, placement: Placement) -> Option<u64> {
        self.messages[placement as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_copied_once_where_the_cache_does_not_hold_it_twice() {
        let of = |processes| between_two(Placement::L3, Some(SharedCache { size: 4 << 20, processes }));
        assert_eq!([of(1), of(2), of(4), of(1000)], [2 << 20, 1 << 20, 512 << 10, APART]);
        let apart = |placement| between_two(placement, Some(SharedCache { size: 4 << 20, processes: 2 }));
        assert_eq!([apart(Placement::Numa), apart(Placement::Machine)], [APART; 2]);
        assert_eq!(between_two(Placement::L3, None), APART);
    }

    #[test]
    fn among_all_the_threshold_falls_with_the_processes() {
        assert_eq!([2, 8, 64, 1000].map(among_all), [128 << 10, 32 << 10, 4096, 4096]);
        assert_eq!(among_all(0), 128 << 10);
    }

    #[test]
    fn the_rule_holds_where_nothing_was_measured_and_nothing_asked_for() {
        let cache = || Some(SharedCache { size: 4 << 20, processes: 2 });
        let none = SingleCopy::new([None, None], false, cache);
        assert_eq!(none, SingleCopy::default());
        let rule = SingleCopy::new([None, None], true, cache);
        assert_eq!(
            Placement::ALL.map(|placement| rule.message(placement)),
            [1 << 20, 1 << 20, 1 << 20, APART, APART].map(Some)
        );
        assert_eq!((rule.collectives, rule.is_asked), (Some(ROOTED), false));
        let asked = SingleCopy::new([Some(9), None], true, cache);
        assert_eq!((asked.message(Placement::Numa), asked.is_asked), (Some(9), true));
        assert_eq!((asked.collectives, asked.are_collectives_asked), (Some(ROOTED), false));
        assert_eq!(SingleCopy::new([None, Some(7)], false, cache).collectives, Some(7));
    }
}
