//! Choices that were made before, so that a message pays one load for its choice.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use core::cell::{Cell, RefCell};

use tern_settings::Mechanism;

use super::sizes::{CLASSES, block_class, class, rounded};
use super::{Choice, ChosenBy, Rooted, SingleCopy, Situation, Stage, Thresholds, Transfer, choose};
use crate::coordinator::SharedCoordinator;
use crate::costs::{Costs, Placement, Warmth};
use crate::pair::{Bound, Times};
use crate::rounds::Rounds;
use crate::rules;
use crate::trial::Trial;

/// Bits of a situation without its size.
const BITS: u32 = 16;
/// A cell that was not computed yet.
const EMPTY: u8 = 0;
/// A cell whose choice is made by trying.
const CONTESTED: u8 = u8::MAX;

/// Chooses for one process. Cells are computed when they are first asked for.
pub struct Chooser {
    costs: Rc<Costs>,
    asked: Mechanism,
    single_copy: SingleCopy,
    /// By situation and class of size: number of the transfer plus one. Zeros, so the kernel
    /// gives pages only to what is asked for: a page per placement, warmth, and so on.
    cells: Box<[Cell<u8>]>,
    coordinator: SharedCoordinator,
    contests: RefCell<Contests>,
}

/// What the costs leave open.
#[derive(Debug, Default)]
struct Contests {
    /// By cell: packets and the kernel's copy, and which of them is presumed to be better.
    ways: BTreeMap<usize, ([Transfer; 2], usize)>,
    rounds: Rounds,
}

impl Chooser {
    /// A chooser by these costs, which uses the mechanism that was `asked` for wherever it is possible. `single_copy`: from how many bytes
    /// on one copy is made, where costs do not decide.
    pub fn new(costs: Rc<Costs>, asked: Mechanism, single_copy: SingleCopy) -> Chooser {
        let cells = vec![EMPTY; CLASSES << BITS].into_boxed_slice();
        // SAFETY: a Cell<u8> is laid out as its u8, and the box is the only owner.
        let cells = unsafe { Box::from_raw(Box::into_raw(cells) as *mut [Cell<u8>]) };
        let coordinator = SharedCoordinator::default();
        let contests = Contests { ways: BTreeMap::new(), rounds: Rounds::new(&coordinator) };
        Chooser { costs, asked, single_copy, cells, coordinator, contests: RefCell::new(contests) }
    }

    /// The coordinator that all trials of this process ask.
    pub fn coordinator(&self) -> &SharedCoordinator {
        &self.coordinator
    }

    /// The costs in use.
    pub fn costs(&self) -> &Rc<Costs> {
        &self.costs
    }

    /// See [`SingleCopy::mechanism`].
    fn asked_for(&self, situation: &Situation) -> Mechanism {
        self.single_copy.mechanism(self.asked, situation)
    }

    /// See [`SingleCopy::asked_from`].
    fn asked_from(&self, placement: Placement) -> Option<u64> {
        self.single_copy.asked_from(self.asked, placement)
    }

    /// Whether [`Chooser::kernel_fetches_from`] is the user's word, where no mechanism is asked for.
    pub fn single_copy_is_asked(&self) -> bool {
        self.single_copy.is_asked
    }

    /// How long such a collective takes by each way, and which length decides instead of that, if one does.
    pub fn times(&self, rooted: &Rooted) -> Times {
        let single_copy = &self.single_copy;
        let length = |from: u64| usize::try_from(from).unwrap_or(usize::MAX);
        let bound = single_copy
            .collectives
            .map(|from| Bound { from: length(from), is_asked: single_copy.are_collectives_asked });
        Times { bound, ..rooted.times(self.costs()) }
    }

    /// How to move a message. Sizes and blocks are rounded to their class first, see
    /// [`Chooser::explain`] for the figures behind the answer. The transfer begins at `now`, in nanoseconds.
    #[inline]
    pub fn pick(&self, situation: &Situation, now: impl FnOnce() -> u64) -> Transfer {
        let at = index(situation);
        match self.cells[at].get() {
            EMPTY => self.fill(at, situation, now),
            CONTESTED => self.contest(at, situation.size, now),
            cell => Transfer::ALL[usize::from(cell) - 1],
        }
    }

    /// Who has picked a transfer for such a message.
    #[inline]
    pub fn picked_by(&self, situation: &Situation) -> ChosenBy {
        let contested = self.cells[index(situation)].get() == CONTESTED;
        match self.asked_for(situation) {
            _ if contested => ChosenBy::Trial,
            _ if self.asked != Mechanism::Auto => ChosenBy::Mechanism,
            asked if asked != Mechanism::Auto && self.single_copy.is_asked => ChosenBy::Length,
            _ => ChosenBy::Costs,
        }
    }

    #[cold]
    fn fill(&self, at: usize, situation: &Situation, now: impl FnOnce() -> u64) -> Transfer {
        let choice = self.explain(situation);
        let transfer = choice.transfer;
        if self.asked == Mechanism::Auto
            && !self.single_copy.is_asked
            && rules::COPIES.is_on()
            && let Some(rival) = choice.rival(situation)
        {
            let contest = match transfer.by() {
                None => ([transfer, rival], 0),
                Some(_) => ([rival, transfer], 1),
            };
            self.contests.borrow_mut().ways.insert(at, contest);
            self.cells[at].set(CONTESTED);
            return self.contest(at, situation.size, now);
        }
        let number = Transfer::ALL.iter().position(|known| *known == transfer);
        self.cells[at].set(number.expect("one of all") as u8 + 1);
        transfer
    }

    /// The next transfer of a contest. Only long messages come here.
    #[cold]
    fn contest(&self, at: usize, size: u64, now: impl FnOnce() -> u64) -> Transfer {
        let mut contests = self.contests.borrow_mut();
        let (ways, presumed) = contests.ways[&at];
        let cell = crate::coordinator::Cell::of(size as usize);
        let way = contests.rounds.way(at, cell, now, || Trial::presuming(presumed));
        if way != presumed {
            rules::COPIES.count_one();
        }
        ways[way]
    }

    /// The program waits: its next transfers are another round of theirs.
    pub fn end_round(&self) {
        self.contests.borrow_mut().rounds.end_round();
    }

    /// See [`Thresholds::packets_below`].
    pub fn packets_below(&self, placement: Placement, shared: bool, kernel: bool, eager: u64) -> u64 {
        match self.asked_from(placement).filter(|_| kernel && !shared) {
            Some(from) if from <= eager => from,
            Some(_) => u64::MAX,
            None => self.thresholds(placement).packets_below(shared, kernel, eager),
        }
    }

    /// See [`Thresholds::kernel_fetches_from`].
    pub fn kernel_fetches_from(&self, placement: Placement) -> u64 {
        self.asked_from(placement).unwrap_or_else(|| self.thresholds(placement).kernel_fetches_from())
    }

    fn thresholds(&self, placement: Placement) -> Thresholds<'_> {
        Thresholds { costs: self.costs(), asked: self.asked, placement }
    }

    /// The mechanism that was asked for.
    pub fn asked(&self) -> Mechanism {
        self.asked
    }

    /// The choice that [`Chooser::pick`] gives, unless a rival of it is tried, with the predictions that
    /// led to it.
    pub fn explain(&self, situation: &Situation) -> Choice {
        let rounded = rounded(situation);
        choose(self.costs(), self.asked_for(&rounded), &rounded)
    }
}

/// Where the cell is. What changes from message to message is in the low bits, so that the cells
/// of one pair of processes are on one page.
#[inline]
fn index(situation: &Situation) -> usize {
    let stage = match situation.stage {
        Stage::Unseen => 0,
        Stage::Published => 1,
        Stage::Requested => 2,
    };
    let bits = stage
        | usize::from(situation.other_waits) << 2
        | usize::from(situation.source_shared) << 3
        | usize::from(situation.target_shared) << 4
        | usize::from(situation.eager) << 5
        | block_class(situation.block) << 6
        | usize::from(situation.warmth == Warmth::Cold) << 8
        | usize::from(situation.push) << 9
        | usize::from(situation.pull) << 10
        | usize::from(situation.crowded) << 11
        | usize::from(situation.by_module) << 12
        | (situation.placement as usize) << 13;
    bits * CLASSES + class(situation.size)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::costs::{Curve, Mover, PLACEMENTS};
    use crate::pair::Group;
    use crate::transfer::By;

    /// By the default costs alone.
    fn plain() -> Chooser {
        Chooser::new(Rc::default(), Mechanism::Auto, SingleCopy::default())
    }

    /// One copy from 64 KiB on: by the rule, or asked for.
    fn bounded(is_asked: bool) -> Chooser {
        let from = Some(64 << 10);
        let single_copy =
            SingleCopy { messages: [from; PLACEMENTS], collectives: from, is_asked, are_collectives_asked: is_asked };
        Chooser::new(Rc::default(), Mechanism::Auto, single_copy)
    }

    #[test]
    fn a_length_says_which_private_messages_are_copied_once() {
        let situation = Situation { stage: Stage::Requested, pull: true, ..Situation::default() };
        let asked = bounded(true);
        let of = |size, other_waits, source_shared| {
            asked.pick(&Situation { size, other_waits, source_shared, ..situation }, || 0)
        };
        assert_eq!(of(63 << 10, true, false), Transfer::Pipe);
        assert!(matches!(of(64 << 10, true, false), Transfer::Cma { .. }));
        assert!(matches!(of(4096, false, false), Transfer::Cma { .. }), "it leaves the other one alone");
        assert!(matches!(of(16 << 20, true, true), Transfer::Mapped { .. }), "no kernel is needed");
        assert_eq!(asked.kernel_fetches_from(Placement::L3), 64 << 10);
        let below = |eager| asked.packets_below(Placement::L3, false, true, eager);
        assert_eq!([below(1 << 20), below(32 << 10)], [64 << 10, u64::MAX]);
        assert!(asked.single_copy_is_asked() && !bounded(false).single_copy_is_asked());
        // A rule is where trials begin.
        let plain = plain();
        let both = [&plain, &bounded(false)].map(|one| one.kernel_fetches_from(Placement::L3));
        assert_eq!(both[0], both[1]);
    }

    #[test]
    fn times_of_a_collective_tell_the_length_that_decides_instead() {
        let group = Group { others: 3, len: 64 << 10, apart: false, writes: false, shared: false };
        let rooted = Rooted { group, cores: 4, placement: Placement::L3 };
        let plain = plain().times(&rooted);
        assert_eq!(plain, rooted.times(&Costs::default()));
        for is_asked in [true, false] {
            let bound = Some(Bound { from: 64 << 10, is_asked });
            assert_eq!(bounded(is_asked).times(&rooted), Times { bound, ..plain });
        }
    }

    /// Every situation that the table tells apart, at one size.
    pub(crate) fn situations() -> Vec<Situation> {
        let mut all = Vec::new();
        for bits in 0..1usize << BITS {
            let bit = |number: u32| bits >> number & 1 == 1;
            let stages = [Stage::Unseen, Stage::Published, Stage::Requested];
            let (Some(stage), Some(placement)) = (stages.get(bits & 3), Placement::ALL.get(bits >> 13)) else {
                continue;
            };
            all.push(Situation {
                size: 1 << 16,
                stage: *stage,
                other_waits: bit(2),
                source_shared: bit(3),
                target_shared: bit(4),
                eager: bit(5),
                block: [0, 16, 256, 4096][bits >> 6 & 3],
                warmth: if bit(8) { Warmth::Cold } else { Warmth::Warm },
                push: bit(9),
                pull: bit(10),
                crowded: bit(11),
                by_module: bit(12),
                has_copier: false,
                placement: *placement,
            });
        }
        all
    }

    #[test]
    fn every_situation_has_a_cell_of_its_own() {
        let mut cells = std::collections::HashMap::new();
        for situation in situations() {
            for size in [0, 1 << 10, 1 << 20] {
                let situation = Situation { size, ..situation };
                let other = cells.insert(index(&situation), situation);
                assert_eq!(other, None, "{situation:?}");
            }
        }
    }

    #[test]
    fn a_near_and_a_far_peer_go_ways_of_their_own() {
        // The kernel's copy is the cheaper one between the sockets only, and of cold memory.
        let costs = || {
            let mut costs = Costs::default();
            let line = |slope: f64| Curve::new(vec![(0, 0.0), (1 << 30, slope * f64::from(1 << 30))]).expect("a curve");
            for placement in Placement::ALL {
                let far = placement == Placement::Machine;
                let movers = &mut costs.paces[placement as usize].movers;
                movers.fill(if far { [line(100.0), line(100.0)] } else { [line(1.0), line(1000.0)] });
                movers[Mover::CmaPush as usize] = [line(10.0), line(10.0)];
            }
            costs
        };
        let chooser = Chooser::new(Rc::new(costs()), Mechanism::Auto, SingleCopy::default());
        let situation = Situation {
            size: 1 << 20,
            stage: Stage::Published,
            other_waits: false,
            eager: false,
            push: true,
            target_shared: true,
            ..Situation::default()
        };
        let ways = Warmth::ALL.map(|warmth| {
            Placement::ALL.map(|placement| chooser.pick(&Situation { placement, warmth, ..situation }, || 0))
        });
        let (mapped, kernel) = (Transfer::Mapped { by: By::Sender }, Transfer::Cma { by: By::Sender });
        assert_eq!(ways, [[mapped, mapped, mapped, mapped, kernel], [kernel; 5]]);
    }

    #[test]
    fn the_table_repeats_what_choose_said() {
        let chooser = plain();
        for situation in situations() {
            let chosen = choose(&Costs::default(), Mechanism::Auto, &rounded(&situation));
            let expected = [Some(chosen.transfer), chosen.rival(&rounded(&situation))];
            for _ in 0..20 {
                chooser.end_round();
                assert!(expected.contains(&Some(chooser.pick(&situation, || 0))));
            }
            assert!(expected.into_iter().flatten().all(|transfer| situation.allows(transfer)));
        }
    }
}
