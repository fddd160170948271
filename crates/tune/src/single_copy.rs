//! From how many bytes on private memory is copied once by the kernel instead of twice through shared memory, where that is not
//! left to costs: by a setting, or by a rule where nothing was measured.
//!
//! The rule is that of the papers about KNEM. Two copies of a message that fits into a cache which both processes share are
//! quick. One that does not fit had better be copied once: from `cache / (2 * processes)` bytes on, since a message has a source and a
//! target. Without a common cache one copy pays from 16 KiB on; in collectives with a root from 128 KiB on; among all, the
//! more processes the sooner.

use tern_node::topology::{Cache, Machine};
use tern_settings::Mechanism;

use crate::costs::CLASSES;
use crate::thresholds::SMALLEST;
use crate::{Costs, Placement, Situation};

/// One copy pays from here on between cores that share no cache, and nowhere sooner.
pub const APART: u64 = 16 << 10;
/// The same of a collective with a root, whatever the number of processes.
pub const ROOTED: u64 = 128 << 10;
/// The same of one in which all send to all, by the number of processes.
const AMONG_ALL: u64 = 256 << 10;

/// A cache, and the processes that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedCache {
    /// Bytes.
    pub size: u64,
    /// One at least.
    pub processes: u64,
}

impl SharedCache {
    /// The last cache of the first of `cores`. A process is expected on each of these that shares the cache. `None`: no cache is known.
    pub fn of(caches: &[Cache], cores: &[usize]) -> Option<SharedCache> {
        let last = last(caches, *cores.first()?)?;
        let processes = cores.iter().filter(|core| last.shared_by.contains(core)).count() as u64;
        Some(SharedCache { size: last.size, processes })
    }

    /// The last cache of `core`, where so many processes run on a machine of so many hardware threads. The processes are expected side by
    /// side, one on each thread, or spread over all threads if there are more processes. `None`: no cache is known.
    pub fn among(caches: &[Cache], core: usize, processes: u64, threads: u64) -> Option<SharedCache> {
        let last = last(caches, core)?;
        let sharers = last.shared_by.len() as u64;
        let spread = (processes * sharers).div_ceil(threads.max(sharers));
        Some(SharedCache { size: last.size, processes: processes.min(sharers).max(spread).max(1) })
    }

    /// Bytes of it for each of the processes.
    pub fn share(self) -> u64 {
        self.size / self.processes.max(1)
    }

    /// Bytes of a message from which on two copies of it do not stay in the cache.
    pub fn holds_below(self) -> u64 {
        self.size / (2 * self.processes.max(1))
    }
}

/// The last cache of this hardware thread that holds data.
fn last(caches: &[Cache], core: usize) -> Option<&Cache> {
    let holds = |cache: &&Cache| cache.kind != "Instruction" && cache.shared_by.contains(&core);
    caches.iter().filter(holds).max_by_key(|cache| cache.level)
}

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
    pub messages: [Option<u64>; CLASSES],
    /// Of blocks of collectives with a root.
    pub collectives: Option<u64>,
    /// The user has said so of messages: nothing else is tried.
    pub is_asked: bool,
    /// The same of collectives.
    pub are_collectives_asked: bool,
}

impl SingleCopy {
    /// What TERN_SINGLE_COPY_FROM and TERN_COLL_SINGLE_COPY_FROM say; else the rule, where TERN_COSTS asks for measured costs and
    /// these are not.
    pub fn from_settings(costs: &Costs) -> SingleCopy {
        let asked = [tern_settings::SINGLE_COPY_FROM.get(), tern_settings::COLL_SINGLE_COPY_FROM.get()];
        let measures = matches!(tern_settings::COSTS.get(), "auto" | "");
        let cache = || SharedCache::of(&Machine::read().caches, &tern_node::affinity());
        SingleCopy::from(asked, measures && !costs.is_measured(), cache)
    }

    fn from(
        [messages, collectives]: [Option<u64>; 2], guess: bool, cache: impl Fn() -> Option<SharedCache>,
    ) -> SingleCopy {
        let cache = if guess && messages.is_none() { cache() } else { None };
        let rule = |placement| guess.then(|| between_two(placement, cache));
        SingleCopy {
            messages: Placement::ALL.map(|placement| messages.or_else(|| rule(placement))),
            collectives: collectives.or(guess.then_some(ROOTED)),
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

    /// Two sockets of four cores with a cache of 8 MiB each, and cores with one of their own.
    fn caches() -> Vec<Cache> {
        let cache = |level, size, shared_by: &[usize]| Cache {
            level,
            kind: "Unified".into(),
            size,
            shared_by: shared_by.to_vec(),
        };
        let mut all = vec![cache(3, 8 << 20, &[0, 1, 2, 3]), cache(3, 8 << 20, &[4, 5, 6, 7])];
        all.extend((0..8).map(|core| cache(2, 256 << 10, &[core])));
        all.push(Cache { kind: "Instruction".into(), ..cache(4, 1, &[0]) });
        all
    }

    #[test]
    fn the_processes_that_share_a_cache_divide_it() {
        let shared = |cores: &[usize]| SharedCache::of(&caches(), cores);
        assert_eq!(shared(&[0, 1]), Some(SharedCache { size: 8 << 20, processes: 2 }));
        assert_eq!(shared(&[0, 4]), Some(SharedCache { size: 8 << 20, processes: 1 }));
        assert_eq!(shared(&[4, 5, 6, 7]), Some(SharedCache { size: 8 << 20, processes: 4 }));
        assert_eq!((shared(&[]), SharedCache::of(&[], &[0])), (None, None));
    }

    #[test]
    fn more_processes_have_a_smaller_share_of_the_cache() {
        let share = |processes| SharedCache::among(&caches(), 0, processes, 8).map(SharedCache::share);
        let mib = |quarters: u64| Some(quarters * (256 << 10));
        assert_eq!([1, 2, 4].map(share), [32, 16, 8].map(mib), "side by side");
        assert_eq!([8, 16, 32].map(share), [8, 4, 2].map(mib), "on both sockets");
        assert_eq!(SharedCache::among(&caches(), 0, 0, 0).map(SharedCache::share), mib(32));
        assert_eq!((SharedCache::among(&[], 0, 2, 8), SharedCache::among(&caches(), 9, 2, 8)), (None, None));
    }

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
        let none = SingleCopy::from([None, None], false, cache);
        assert_eq!(none, SingleCopy::default());
        let rule = SingleCopy::from([None, None], true, cache);
        assert_eq!(
            Placement::ALL.map(|placement| rule.message(placement)),
            [1 << 20, 1 << 20, 1 << 20, APART, APART].map(Some)
        );
        assert_eq!((rule.collectives, rule.is_asked), (Some(ROOTED), false));
        let asked = SingleCopy::from([Some(9), None], true, cache);
        assert_eq!((asked.message(Placement::Numa), asked.is_asked), (Some(9), true));
        assert_eq!((asked.collectives, asked.are_collectives_asked), (Some(ROOTED), false));
        assert_eq!(SingleCopy::from([None, Some(7)], false, cache).collectives, Some(7));
    }
}
