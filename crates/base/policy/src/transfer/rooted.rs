//! Collectives with a root inside a node: whether the others had better read from one region of the root's, or write to it, than
//! take the data through shared memory in two copies.

use crate::costs::{Costs, Mover, Placement, Warmth};
use crate::pair::{Group, Times};

/// Such a collective, and where it takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rooted {
    /// Its members, of which one at least is not the root.
    pub group: Group,
    /// Cores that all members share.
    pub cores: u64,
    /// Where root and members are: the farthest of them.
    pub placement: Placement,
}

/// What each further process adds that the kernel serves at the same time in the memory of one: they meet at its page tables and the
/// counts of its pages.
const MEETING: f64 = 0.1;
/// Bytes of a member's buffers in the lines: after so many it waits for the others.
const WINDOW: u64 = 64 << 10;

impl Rooted {
    fn others(&self) -> u64 {
        self.group.others as u64
    }

    fn len(&self) -> u64 {
        self.group.len as u64
    }

    /// Rounds in which all others have had a core once.
    fn rounds(&self) -> f64 {
        self.others().div_ceil(self.cores.max(1)) as f64
    }

    fn is_crowded(&self) -> bool {
        self.others() + 1 > self.cores
    }

    /// Nanoseconds until all have what they get, in two copies: the root's, which has to be in time for all others, and theirs.
    pub fn through_lines(&self, costs: &Costs) -> f64 {
        let pace = costs.pace(self.placement);
        let copy = |len| pace.at(Mover::Mapped, Warmth::Warm, len);
        let all = if self.group.apart { self.others() * self.len() } else { self.len() };
        if self.is_crowded() {
            let copies = copy(all) + self.rounds() * copy(self.len());
            let members = (self.others() + 1) as f64 / self.cores.max(1) as f64;
            return copies + (self.len().div_ceil(WINDOW) as f64) * members * costs.switch;
        }
        match self.group.apart {
            true => copy(all) + copy(self.len().min(WINDOW)),
            false => pace.at(Mover::Pipe, Warmth::Warm, self.len()),
        }
    }

    /// The same by a region. Also says when all are done, which the root waits for.
    pub fn by_region(&self, costs: &Costs) -> f64 {
        let pace = costs.pace(self.placement);
        let mover = match (self.group.shared, self.group.writes) {
            (true, true) => Mover::MappedPush,
            (true, false) => Mover::Mapped,
            (false, true) => Mover::CmaPush,
            (false, false) => Mover::Cma,
        };
        let at_once = self.others().min(self.cores.max(1));
        let meeting = if self.group.shared { 1.0 } else { 1.0 + MEETING * (at_once - 1) as f64 };
        let copy = match self.group.shared {
            true => pace.at(mover, Warmth::Warm, self.len()),
            false => costs.by_kernel(self.placement, mover, Warmth::Warm, self.len()),
        };
        let mut ns = self.rounds() * meeting * copy + 2.0 * pace.packet;
        if self.is_crowded() {
            ns += 2.0 * self.rounds() * costs.switch;
        }
        ns
    }

    /// How long it takes by each way.
    pub fn times(&self, costs: &Costs) -> Times {
        Times { lines: self.through_lines(costs), region: self.by_region(costs), bound: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Curve;
    use tern_settings::Mechanism;

    const GROUP: Group = Group { others: 3, len: 1 << 20, apart: false, writes: false, shared: false };
    const ROOTED: Rooted = Rooted { group: GROUP, cores: 4, placement: Placement::L3 };

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

    /// What is better, and whether that is sure.
    fn advice(rooted: Rooted, costs: &Costs) -> (bool, bool) {
        let advice = rooted.times(costs).advise(Mechanism::Auto, &rooted.group);
        (advice.region, advice.sure)
    }

    #[test]
    fn a_far_member_makes_the_way_dearer() {
        let mut costs = costs(0.5);
        let slow = Curve::new(vec![(0, 0.0), (1 << 30, 50.0 * f64::from(1 << 30))]).expect("a curve");
        costs.paces[Placement::Machine as usize].movers[Mover::Cma as usize] = [slow.clone(), slow];
        let far = Rooted { placement: Placement::Machine, ..ROOTED };
        assert!(advice(ROOTED, &costs).0 && !advice(far, &costs).0);
    }

    #[test]
    fn blocks_of_their_own_are_one_copy_for_each_not_all_for_the_root() {
        let apart = Rooted { group: Group { apart: true, writes: true, ..GROUP }, ..ROOTED };
        assert!(advice(apart, &costs(2.0)).0);
        assert!(!advice(ROOTED, &costs(2.0)).0);
    }

    #[test]
    fn with_more_ranks_than_cores_a_region_saves_changes_of_processes() {
        let crowded = Rooted { cores: 2, ..ROOTED };
        let mut costs = costs(2.0);
        costs.switch = 0.0;
        assert!(!advice(crowded, &costs).0);
        costs.switch = 1e6;
        assert_eq!(advice(crowded, &costs), (true, true));
    }
}
