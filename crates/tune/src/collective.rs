//! Collectives with a root inside a node: whether the others had better read from one region of the root's, or write to it, than
//! take the data through shared memory in two copies.

use crate::{Costs, Mover, Placement, Warmth};
use tern_settings::Mechanism;

/// The members of such a collective, and what each of them copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Members but the root: one at least.
    pub others: u64,
    /// Bytes that each of them gets or gives.
    pub len: u64,
    /// Each has bytes of its own, as in a gather or a scatter. Else all read the same ones.
    pub apart: bool,
    /// They write to the region; else they read from it.
    pub writes: bool,
    /// The region is mapped by the others; else the kernel copies.
    pub shared: bool,
    /// Cores that all members share.
    pub cores: u64,
    /// Where root and members are.
    pub placement: Placement,
}

/// What is expected to be better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// The region.
    pub region: bool,
    /// By so much that the other way need not be tried.
    pub sure: bool,
}

/// Predictions are wrong by this factor at most: costs are those of two processes that have a core each, with nothing else in their caches.
const DOUBT: f64 = 4.0;
/// What each further process adds that the kernel serves at the same time in the memory of one: they meet at its page tables and the
/// counts of its pages.
const MEETING: f64 = 0.1;
/// Bytes of a member's buffers in the lines: after so many it waits for the others.
const WINDOW: u64 = 64 << 10;

impl Group {
    /// Rounds in which all others have had a core once.
    fn rounds(&self) -> f64 {
        self.others.div_ceil(self.cores.max(1)) as f64
    }

    fn is_crowded(&self) -> bool {
        self.others + 1 > self.cores
    }

    /// Nanoseconds until all have what they get, in two copies: the root's, which has to be in time for all others, and theirs.
    pub fn through_lines(&self, costs: &Costs) -> f64 {
        let pace = costs.pace(self.placement);
        let copy = |len| pace.at(Mover::Mapped, Warmth::Warm, len);
        let all = if self.apart { self.others * self.len } else { self.len };
        if self.is_crowded() {
            let copies = copy(all) + self.rounds() * copy(self.len);
            let members = (self.others + 1) as f64 / self.cores.max(1) as f64;
            return copies + (self.len.div_ceil(WINDOW) as f64) * members * costs.switch;
        }
        match self.apart {
            true => copy(all) + copy(self.len.min(WINDOW)),
            false => pace.at(Mover::Pipe, Warmth::Warm, self.len),
        }
    }

    /// The same by a region. Also says when all are done, which the root waits for.
    pub fn by_region(&self, costs: &Costs) -> f64 {
        let pace = costs.pace(self.placement);
        let mover = match (self.shared, self.writes) {
            (true, true) => Mover::MappedPush,
            (true, false) => Mover::Mapped,
            (false, true) => Mover::CmaPush,
            (false, false) => Mover::Cma,
        };
        let at_once = self.others.min(self.cores.max(1));
        let meeting = if self.shared { 1.0 } else { 1.0 + MEETING * (at_once - 1) as f64 };
        let mut ns = self.rounds() * meeting * pace.at(mover, Warmth::Warm, self.len) + 2.0 * pace.packet;
        if self.is_crowded() {
            ns += 2.0 * self.rounds() * costs.switch;
        }
        ns
    }

    /// What is better by these costs, if that mechanism is asked for.
    pub fn advise(&self, costs: &Costs, asked: Mechanism) -> Advice {
        match asked {
            Mechanism::Pipe => return Advice { region: false, sure: true },
            Mechanism::Cma | Mechanism::Module if !self.shared => return Advice { region: true, sure: true },
            Mechanism::Mapped if self.shared => return Advice { region: true, sure: true },
            Mechanism::Auto => {}
            _ => return Advice { region: false, sure: true },
        }
        let (lines, region) = (self.through_lines(costs), self.by_region(costs));
        let (less, more) = if region < lines { (region, lines) } else { (lines, region) };
        Advice { region: region < lines, sure: DOUBT * less < more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Curve;

    const GROUP: Group = Group {
        others: 3,
        len: 1 << 20,
        apart: false,
        writes: false,
        shared: false,
        cores: 4,
        placement: Placement::L3,
    };

    /// A byte takes so many nanoseconds by the kernel, and 1 in any other way.
    fn costs(kernel: f64) -> Costs {
        let mut costs = Costs::default();
        let line = |slope: f64| Curve::new(vec![(0, 0.0), (1 << 30, slope * f64::from(1 << 30))]).expect("a curve");
        for pace in &mut costs.paces {
            for mover in Mover::ALL {
                let slope = if matches!(mover, Mover::Cma | Mover::CmaPush) { kernel } else { 1.0 };
                pace.movers[mover as usize] = std::array::from_fn(|_| line(slope));
            }
        }
        costs
    }

    #[test]
    fn the_cheaper_way_is_advised_and_tried_if_it_is_close() {
        let advice = |kernel: f64| GROUP.advise(&costs(kernel), Mechanism::Auto);
        assert_eq!(advice(0.1), Advice { region: true, sure: true });
        assert_eq!(advice(0.7), Advice { region: true, sure: false });
        assert_eq!(advice(1.5), Advice { region: false, sure: false });
        assert_eq!(advice(5.0), Advice { region: false, sure: true });
    }

    #[test]
    fn blocks_of_their_own_are_one_copy_for_each_not_all_for_the_root() {
        let apart = Group { apart: true, writes: true, ..GROUP };
        assert!(apart.advise(&costs(2.0), Mechanism::Auto).region);
        assert!(!GROUP.advise(&costs(2.0), Mechanism::Auto).region);
    }

    #[test]
    fn with_more_ranks_than_cores_a_region_saves_changes_of_processes() {
        let crowded = Group { cores: 2, ..GROUP };
        let mut costs = costs(2.0);
        costs.switch = 0.0;
        assert!(!crowded.advise(&costs, Mechanism::Auto).region);
        costs.switch = 1e6;
        assert_eq!(crowded.advise(&costs, Mechanism::Auto), Advice { region: true, sure: true });
    }

    #[test]
    fn what_is_asked_for_is_advised_where_it_can_be() {
        let advice = |asked, shared| Group { shared, ..GROUP }.advise(&costs(1.0), asked).region;
        assert!(advice(Mechanism::Cma, false) && !advice(Mechanism::Cma, true));
        assert!(advice(Mechanism::Module, false) && !advice(Mechanism::Module, true));
        assert!(advice(Mechanism::Mapped, true) && !advice(Mechanism::Mapped, false));
        assert!(!advice(Mechanism::Pipe, true) && !advice(Mechanism::Pipe, false));
    }
}
