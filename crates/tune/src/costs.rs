//! What things cost on this machine.

use crate::Curve;
use std::cell::OnceCell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use tern_region::promote::Reuse;

/// Classes of placement.
pub const CLASSES: usize = 5;

/// How two cores stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// They are threads of one processor core, or one such thread.
    Smt,
    /// They share a cache of level 2.
    L2,
    /// They share the cache of the last level only. So are taken those of which nothing is known.
    L3,
    /// They share a NUMA node, but no cache.
    Numa,
    /// They are on different NUMA nodes.
    Machine,
}

impl Placement {
    /// All, nearest first.
    pub const ALL: [Placement; CLASSES] =
        [Placement::Smt, Placement::L2, Placement::L3, Placement::Numa, Placement::Machine];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Smt => "smt",
            Placement::L2 => "l2",
            Placement::L3 => "l3",
            Placement::Numa => "numa",
            Placement::Machine => "machine",
        }
    }

    /// What two cores that stand so have in common, for the user.
    pub fn describe(self) -> &'static str {
        match self {
            Placement::Smt => "are threads of one processor core",
            Placement::L2 => "share a cache of level 2",
            Placement::L3 => "share a cache",
            Placement::Numa => "share a NUMA node",
            Placement::Machine => "are on different NUMA nodes",
        }
    }
}

impl Placement {
    /// Between which processes, for the user. `crowded`: there are more of them than cores.
    pub fn between(self, crowded: bool) -> &'static str {
        match (self, crowded) {
            (Placement::Smt, false) => "between threads of one core",
            (Placement::L2, false) => "between cores with one cache of level 2",
            (Placement::L3, false) => "between cores with one cache of level 3",
            (Placement::Numa, false) => "between cores of one NUMA node",
            (Placement::Machine, false) => "between NUMA nodes",
            (Placement::Machine, true) => "between NUMA nodes, more ranks than cores",
            (_, true) => "inside a NUMA node, more ranks than cores",
        }
    }
}

/// What is known by class of placement, one value for each, made at the first question.
#[derive(Debug, Default)]
pub struct ByPlacement<T>([OnceCell<T>; CLASSES]);

impl<T: Copy> ByPlacement<T> {
    /// The value of this class.
    #[inline]
    pub fn of(&self, placement: Placement, find: impl FnOnce() -> T) -> T {
        *self.0[placement as usize].get_or_init(find)
    }
}

/// What moves the bytes, as far as cost goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mover {
    /// Two copies through the cells of the ring, at once.
    Eager,
    /// Two copies through the ring in parts, after a handshake.
    Pipe,
    /// process_vm_readv by the receiver.
    Cma,
    /// process_vm_writev by the sender.
    CmaPush,
    /// Both of these, each on parts of the message.
    CmaBoth,
    /// A vector copy by the receiver, who has the source mapped.
    Mapped,
    /// A vector copy by the sender, who has the target mapped: it stores to lines that another
    /// core may hold, and that can take longer than to load them.
    MappedPush,
    /// Both of these, each on parts of the message.
    MappedBoth,
}

impl Mover {
    /// All movers.
    pub const ALL: [Mover; 8] = [
        Mover::Eager,
        Mover::Pipe,
        Mover::Cma,
        Mover::CmaPush,
        Mover::CmaBoth,
        Mover::Mapped,
        Mover::MappedPush,
        Mover::MappedBoth,
    ];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Mover::Eager => "eager",
            Mover::Pipe => "pipe",
            Mover::Cma => "cma",
            Mover::CmaPush => "cma-push",
            Mover::CmaBoth => "cma-both",
            Mover::Mapped => "mapped",
            Mover::MappedPush => "mapped-push",
            Mover::MappedBoth => "mapped-both",
        }
    }
}

/// Whether the bytes are in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warmth {
    /// The buffers were used just before.
    Warm,
    /// The buffers are in memory only.
    Cold,
}

impl Warmth {
    /// Both.
    pub const ALL: [Warmth; 2] = [Warmth::Warm, Warmth::Cold];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Warmth::Warm => "warm",
            Warmth::Cold => "cold",
        }
    }
}

/// The costs between two cores of one placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Nanoseconds for a packet without payload, from send to receive.
    pub packet: f64,
    /// Nanoseconds to move a message, without handshakes: by [`Mover`] and [`Warmth`].
    pub movers: [[Curve; 2]; 8],
}

impl Pace {
    /// Nanoseconds for `size` bytes.
    pub fn at(&self, mover: Mover, warmth: Warmth, size: u64) -> f64 {
        self.movers[mover as usize][warmth as usize].at(size)
    }
}

/// Everything that is known of what things cost on this machine. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// By [`Placement`].
    pub paces: [Pace; CLASSES],
    /// R: to turn a private buffer of that size into shared memory in place.
    pub promote: Curve,
    /// V: to look up whether a promoted buffer still is what it was.
    pub lookup: f64,
    /// More for each piece of a message that is not contiguous, copied once in user space.
    pub piece: f64,
    /// More for each piece that the kernel copies.
    pub kernel_piece: f64,
    /// To wake a process that sleeps, until it runs.
    pub wake: f64,
    /// To hand a core to another process that shares it.
    pub switch: f64,
    /// Copies of some KiB are faster by vectors than by the C library.
    pub vectors: bool,
    /// Where the figures come from, one line for the user.
    pub origin: String,
}

impl Costs {
    /// How the origin of figures begins that were measured.
    pub const MEASURED: &str = "measured: ";

    /// Whether these are figures of this machine, as far as their origin says so.
    pub fn is_measured(&self) -> bool {
        self.origin.starts_with(Costs::MEASURED)
    }

    /// The costs between cores of this placement.
    pub fn pace(&self, placement: Placement) -> &Pace {
        &self.paces[placement as usize]
    }

    /// Nanoseconds that both sides have more to do for a published receive than for a packet: to publish, find, claim and free it. The
    /// line that says so goes from core to core once more, like a packet.
    pub fn publishing(&self, placement: Placement) -> f64 {
        const INSTRUCTIONS: f64 = 60.0;
        INSTRUCTIONS + self.pace(placement).packet
    }

    /// What promotion costs, and what it saves a message between processes of this placement, for
    /// the rule of [`tern_region::promote`]. `cma`: whether the kernel copies private memory.
    pub fn promotion(self: &Rc<Costs>, placement: Placement, cma: bool) -> tern_region::promote::Costs {
        let costs = self.clone();
        self.promotion_that_saves(placement, cma, move |len| costs.saved(placement, Warmth::Warm, len, cma))
    }

    /// The same of a message whose caller waits for it. Those of a length in `fetched` the receiver copies alone, while its sender looks
    /// up where they lie; what is sent from there by calls that do not wait goes as any other.
    pub fn promotion_for_awaited(
        self: &Rc<Costs>, placement: Placement, fetched: RangeInclusive<usize>,
    ) -> tern_region::promote::Costs {
        let costs = self.clone();
        self.promotion_that_saves(placement, true, move |len| {
            let any = costs.saved(placement, Warmth::Warm, len, true);
            let fetch =
                || costs.at(placement, Mover::Pipe, len) - costs.at(placement, Mover::Mapped, len) + costs.lookup;
            if fetched.contains(&len) { any.max(fetch()) } else { any }
        })
    }

    /// The same of an exchange of messages between two processes: each copies once, what comes in, where it would copy twice,
    /// what goes out as well, which do not overlap as those of one message do; but the messages do not go at once.
    pub fn promotion_for_exchanges(self: &Rc<Costs>, placement: Placement) -> tern_region::promote::Costs {
        let costs = self.clone();
        let asking = self.publishing(placement) + 2.0 * self.pace(placement).packet;
        self.promotion_that_saves(placement, true, move |len| costs.saved_of_two(placement, len) - asking)
    }

    /// The same of a call in which each process copies what comes in out of the memory of the others, which know where it lies.
    pub fn promotion_for_collectives(self: &Rc<Costs>, placement: Placement) -> tern_region::promote::Costs {
        let costs = self.clone();
        self.promotion_that_saves(placement, true, move |len| costs.saved_of_two(placement, len))
    }

    /// `saved`: where the memory is in the caches. Where it has left them nearly all of what the ways differ in is gone: to write to the memory
    /// and to read from it takes the time.
    fn promotion_that_saves(
        self: &Rc<Costs>, placement: Placement, cma: bool, saved: impl Fn(usize) -> f64 + 'static,
    ) -> tern_region::promote::Costs {
        let (all, costs) = (self.clone(), self.clone());
        tern_region::promote::Costs {
            promote: Box::new(move |len| all.promote.at(len as u64)),
            saved: Box::new(move |len, reuse| match reuse {
                Reuse::Soon => saved(len),
                Reuse::Late => costs.saved(placement, Warmth::Cold, len, cma).min(saved(len)),
            }),
            look_up: self.lookup,
        }
    }

    fn at(&self, placement: Placement, mover: Mover, len: usize) -> f64 {
        self.pace(placement).at(mover, Warmth::Warm, len as u64)
    }

    /// What one copy between mapped pages saves of two through the ring, one after the other.
    fn saved_of_two(&self, placement: Placement, len: usize) -> f64 {
        2.0 * self.at(placement, Mover::Pipe, len) - self.at(placement, Mover::Mapped, len)
    }

    /// C: what a copy between mapped pages saves of the best way without them.
    fn saved(&self, placement: Placement, warmth: Warmth, len: usize, cma: bool) -> f64 {
        let at = |mover| self.pace(placement).at(mover, warmth, len as u64);
        let private = match cma {
            true => at(Mover::Pipe).min(at(Mover::Cma)).min(at(Mover::CmaPush)).min(at(Mover::CmaBoth)),
            false => at(Mover::Pipe),
        };
        let shared = at(Mover::Mapped).min(at(Mover::MappedPush)).min(at(Mover::MappedBoth));
        private - shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let uses =
            |costs: &Costs, cma| Rc::new(costs.clone()).promotion(Placement::L3, cma).break_even(1 << 16, Reuse::Soon);
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
            costs.promotion(Placement::L3, true),
            costs.promotion_for_awaited(Placement::L3, 1..=1 << 20),
            costs.promotion_for_exchanges(Placement::L3),
            costs.promotion_for_collectives(Placement::L3),
        ];
        for way in ways {
            assert!(way.break_even(1 << 16, Reuse::Soon).is_some_and(|uses| uses < 20));
            assert_eq!(way.break_even(1 << 16, Reuse::Late), Some(51), "R / (30 - 28)");
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
        let uses = |placement| costs.promotion(placement, true).break_even(1 << 16, Reuse::Soon);
        assert_eq!(Placement::ALL.map(uses), [101, 51, 21, 11, 3].map(Some), "R / C, and one use more");
    }

    #[test]
    fn what_is_fetched_pays_for_no_look_up() {
        let costs = Rc::new(costs(1000.0, 80.0, [150.0; 2], [100.0; 2]));
        let awaited = costs.promotion_for_awaited(Placement::L3, 1000..=2000);
        assert_eq!(
            [999, 1000, 2000, 2001].map(|len| awaited.break_even(len, Reuse::Soon)),
            [None, Some(21), Some(21), None]
        );
        // Other calls that send from there may save more than the fetch does: R / (150 - 10 - V).
        let mut both = Costs::clone(&costs);
        both.paces[Placement::L3 as usize].movers[Mover::MappedBoth as usize] = [flat(10.0), flat(10.0)];
        assert_eq!(
            Rc::new(both).promotion_for_awaited(Placement::L3, 1000..=2000).break_even(1000, Reuse::Soon),
            Some(17)
        );
        // R / (2 * 150 - 100 - V).
        assert_eq!(costs.promotion_for_collectives(Placement::L3).break_even(1000, Reuse::Soon), Some(9));
        assert_eq!(costs.promotion_for_exchanges(Placement::L3).break_even(1000, Reuse::Soon), None);
    }
}
