//! What it costs to turn private memory into shared memory in place, and what that saves each message from there on.

use alloc::rc::Rc;
use core::ops::RangeInclusive;

use super::{Costs, Mover, Placement, Warmth};

/// What promotion saves.
#[derive(Clone, Debug)]
enum Saves {
    /// A message the best way without shared memory. `kernel`: it copies private memory.
    Message { kernel: bool },
    /// A message whose caller waits for it. Those of such a length the receiver copies alone, while its sender looks up where they lie;
    /// what is sent from there by calls that do not wait goes as any other.
    Awaited(RangeInclusive<usize>),
    /// An exchange of messages between two processes: each copies once, what comes in, where it would copy twice, what goes out as well,
    /// which do not overlap as those of one message do; but the messages do not go at once.
    Exchange,
    /// A call in which each process copies what comes in out of the memory of the others, which know where it lies.
    Collective,
}

/// What promotion costs, and what it saves each use of the memory, between processes of one placement. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Promotion {
    costs: Rc<Costs>,
    placement: Placement,
    saves: Saves,
}

impl Promotion {
    fn new(costs: &Rc<Costs>, placement: Placement, saves: Saves) -> Promotion {
        Promotion { costs: costs.clone(), placement, saves }
    }

    /// For messages. `kernel`: it copies private memory.
    pub fn for_messages(costs: &Rc<Costs>, placement: Placement, kernel: bool) -> Promotion {
        Promotion::new(costs, placement, Saves::Message { kernel })
    }

    /// For messages whose callers wait for them. Those of a length in `fetched` their receivers copy alone.
    pub fn for_awaited(costs: &Rc<Costs>, placement: Placement, fetched: RangeInclusive<usize>) -> Promotion {
        Promotion::new(costs, placement, Saves::Awaited(fetched))
    }

    /// For two processes that send to each other.
    pub fn for_exchanges(costs: &Rc<Costs>, placement: Placement) -> Promotion {
        Promotion::new(costs, placement, Saves::Exchange)
    }

    /// For collectives whose members copy out of each other's memory.
    pub fn for_collectives(costs: &Rc<Costs>, placement: Placement) -> Promotion {
        Promotion::new(costs, placement, Saves::Collective)
    }

    /// R: what it takes to promote so many bytes.
    pub fn once(&self, len: usize) -> f64 {
        self.costs.promote.at(len as u64)
    }

    /// C: what a use of so many bytes costs less. Where memory has left the caches nearly all of what the ways differ in is gone: to write
    /// to the memory and to read from it takes the time.
    pub fn saved(&self, len: usize, warmth: Warmth) -> f64 {
        match warmth {
            Warmth::Warm => self.saved_in_cache(len),
            Warmth::Cold => {
                let kernel = !matches!(self.saves, Saves::Message { kernel: false });
                self.saved_once(len, Warmth::Cold, kernel).min(self.saved_in_cache(len))
            }
        }
    }

    /// V: what it takes to look up, at each use, whether the memory is where it was.
    pub fn look_up(&self) -> f64 {
        self.costs.lookup
    }

    /// The number of uses from which on promotion pays: the least n > R / (C - V). `None`: it never does.
    pub fn break_even(&self, len: usize, warmth: Warmth) -> Option<u32> {
        crate::break_even(self.once(len), self.saved(len, warmth), self.look_up())
    }

    fn saved_in_cache(&self, len: usize) -> f64 {
        let at = |mover| self.at(mover, Warmth::Warm, len);
        match &self.saves {
            Saves::Message { kernel } => self.saved_once(len, Warmth::Warm, *kernel),
            Saves::Awaited(fetched) => {
                let any = self.saved_once(len, Warmth::Warm, true);
                let fetch = || at(Mover::Pipe) - at(Mover::Mapped) + self.look_up();
                if fetched.contains(&len) { any.max(fetch()) } else { any }
            }
            Saves::Exchange => {
                let packet = self.costs.pace(self.placement).packet;
                self.saved_of_two(len) - self.costs.publishing(self.placement) - 2.0 * packet
            }
            Saves::Collective => self.saved_of_two(len),
        }
    }

    fn at(&self, mover: Mover, warmth: Warmth, len: usize) -> f64 {
        self.costs.pace(self.placement).at(mover, warmth, len as u64)
    }

    /// What one copy between mapped pages saves of two through the ring, one after the other.
    fn saved_of_two(&self, len: usize) -> f64 {
        2.0 * self.at(Mover::Pipe, Warmth::Warm, len) - self.at(Mover::Mapped, Warmth::Warm, len)
    }

    /// What a copy between mapped pages saves of the best way without them.
    fn saved_once(&self, len: usize, warmth: Warmth, kernel: bool) -> f64 {
        let at = |mover| self.at(mover, warmth, len);
        let by_kernel = |mover| self.costs.by_kernel(self.placement, mover, warmth, len as u64);
        let private = match kernel {
            true => {
                at(Mover::Pipe).min(by_kernel(Mover::Cma)).min(by_kernel(Mover::CmaPush)).min(by_kernel(Mover::CmaBoth))
            }
            false => at(Mover::Pipe),
        };
        let shared = at(Mover::Mapped).min(at(Mover::MappedPush)).min(at(Mover::MappedBoth));
        private - shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Curve;

    fn flat(ns: f64) -> Curve {
        Curve::new(vec![(0, ns), (1, ns)]).unwrap()
    }

    /// What promotion costs, and all movers, in cache and off cache, but the receiver's copy of what it has mapped.
    fn costs(promote: f64, lookup: f64, all: [f64; 2], mapped: [f64; 2]) -> Costs {
        let mut costs = Costs { promote: flat(promote), lookup, ..Costs::default() };
        let movers = &mut costs.paces[Placement::L3 as usize].movers;
        movers.fill(all.map(flat));
        movers[Mover::Mapped as usize] = mapped.map(flat);
        costs
    }

    #[test]
    fn promotion_pays_after_r_over_c_minus_v_uses() {
        let mut costs = Costs { promote: flat(1000.0), lookup: 10.0, ..Costs::default() };
        let pace = &mut costs.paces[Placement::L3 as usize];
        for (mover, ns) in [
            (Mover::Pipe, 150.0),
            (Mover::Cma, 120.0),
            (Mover::CmaPush, 130.0),
            (Mover::MappedPush, 60.0),
            (Mover::Mapped, 50.0),
            (Mover::MappedBoth, 40.0),
        ] {
            pace.movers[mover as usize] = [flat(ns), flat(ns)];
        }
        let uses = |costs: &Costs, cma| {
            Promotion::for_messages(&Rc::new(costs.clone()), Placement::L3, cma).break_even(1 << 16, Warmth::Warm)
        };
        // R / (C - V) is 1000 / (120 - 40 - 10) and 1000 / (150 - 40 - 10).
        assert_eq!(uses(&costs, true), Some(15));
        assert_eq!(uses(&costs, false), Some(11));
        costs.lookup = 80.0;
        assert_eq!(uses(&costs, true), None);
    }

    #[test]
    fn what_has_left_the_caches_saves_what_it_saves_there() {
        let costs = Rc::new(costs(100_000.0, 0.0, [15_000.0, 30_000.0], [5000.0, 28_000.0]));
        let ways = [
            Promotion::for_messages(&costs, Placement::L3, true),
            Promotion::for_awaited(&costs, Placement::L3, 1..=1 << 20),
            Promotion::for_exchanges(&costs, Placement::L3),
            Promotion::for_collectives(&costs, Placement::L3),
        ];
        for way in ways {
            assert!(way.break_even(1 << 16, Warmth::Warm).is_some_and(|uses| uses < 20));
            assert_eq!(way.break_even(1 << 16, Warmth::Cold), Some(51), "R / (30 - 28)");
        }
    }

    #[test]
    fn promotion_pays_by_what_a_pair_shares() {
        let mut costs = costs(1000.0, 0.0, [1000.0; 2], [1000.0; 2]);
        for (placement, saved) in Placement::ALL.into_iter().zip([10.0, 20.0, 50.0, 100.0, 500.0]) {
            let pace = &mut costs.paces[placement as usize];
            pace.movers.fill([flat(1000.0), flat(1000.0)]);
            pace.movers[Mover::Mapped as usize] = [flat(1000.0 - saved), flat(1000.0 - saved)];
        }
        let costs = Rc::new(costs);
        let uses = |placement| Promotion::for_messages(&costs, placement, true).break_even(1 << 16, Warmth::Warm);
        assert_eq!(Placement::ALL.map(uses), [101, 51, 21, 11, 3].map(Some), "R / C, and one use more");
    }

    #[test]
    fn what_is_fetched_pays_for_no_look_up() {
        let costs = Rc::new(costs(1000.0, 80.0, [150.0; 2], [100.0; 2]));
        let awaited = Promotion::for_awaited(&costs, Placement::L3, 1000..=2000);
        assert_eq!(
            [999, 1000, 2000, 2001].map(|len| awaited.break_even(len, Warmth::Warm)),
            [None, Some(21), Some(21), None]
        );
        // Other calls that send from there may save more than the fetch does: R / (150 - 10 - V).
        let mut both = Costs::clone(&costs);
        both.paces[Placement::L3 as usize].movers[Mover::MappedBoth as usize] = [flat(10.0), flat(10.0)];
        assert_eq!(
            Promotion::for_awaited(&Rc::new(both), Placement::L3, 1000..=2000).break_even(1000, Warmth::Warm),
            Some(17)
        );
        // R / (2 * 150 - 100 - V).
        assert_eq!(Promotion::for_collectives(&costs, Placement::L3).break_even(1000, Warmth::Warm), Some(9));
        assert_eq!(Promotion::for_exchanges(&costs, Placement::L3).break_even(1000, Warmth::Warm), None);
    }
}
