//! Choices that were made before, so that a message pays one load for its choice.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use tern_node::clock;
use tern_policy::{Rounds, Trial, rules};
use tern_settings::Mechanism;

use crate::choose::{FETCHED_BY_KERNEL_FROM, may_fetch_by_kernel};
use crate::{Choice, Costs, Placement, Situation, Stage, Transfer, Warmth, choose};

/// Sizes are told apart in four steps per power of two, from 256 B to 16 MiB.
const CLASSES: usize = 64;
const FIRST: u32 = 8;
/// Bits of a situation without its size.
const BITS: u32 = 14;
/// A cell that was not computed yet.
const EMPTY: u8 = 0;
/// A cell whose choice is made by trying.
const CONTESTED: u8 = u8::MAX;

/// The smallest message that could go otherwise than in packets, and one from which on nothing changes.
const SMALLEST: u64 = 4 << 10;
const LARGEST: u64 = 16 << 20;

/// Chooses for one process. Cells are computed when they are first asked for; the costs are read
/// then too, so that making a `Chooser` costs nothing.
pub struct Chooser {
    costs: OnceCell<Costs>,
    load: fn() -> Costs,
    asked: Mechanism,
    /// By situation and class of size: number of the transfer plus one. Zeros, so the kernel
    /// gives pages only to what is asked for: a page per placement, warmth, and so on.
    cells: Box<[Cell<u8>]>,
    contests: RefCell<Contests>,
}

/// What the costs leave open.
#[derive(Debug, Default)]
struct Contests {
    /// By cell: packets and the kernel's copy, and which of them is presumed to be better.
    ways: HashMap<usize, ([Transfer; 2], usize)>,
    rounds: Rounds,
}

impl Chooser {
    /// The chooser that TERN_COSTS and TERN_MECHANISM ask for.
    pub fn from_settings() -> Chooser {
        Chooser::new(crate::load, tern_settings::MECHANISM.get())
    }

    /// A chooser that gets its costs from `load` at the first choice, and uses the mechanism that
    /// was `asked` for wherever it is possible.
    pub fn new(load: fn() -> Costs, asked: Mechanism) -> Chooser {
        let cells = vec![EMPTY; CLASSES << BITS].into_boxed_slice();
        // SAFETY: a Cell<u8> is laid out as its u8, and the box is the only owner.
        let cells = unsafe { Box::from_raw(Box::into_raw(cells) as *mut [Cell<u8>]) };
        Chooser { costs: OnceCell::new(), load, asked, cells, contests: RefCell::default() }
    }

    /// The costs in use.
    pub fn costs(&self) -> &Costs {
        self.costs.get_or_init(self.load)
    }

    /// How to move a message. Sizes and blocks are rounded to their class first, see
    /// [`Chooser::explain`] for the figures behind the answer.
    #[inline]
    pub fn pick(&self, situation: &Situation) -> Transfer {
        let at = index(situation);
        match self.cells[at].get() {
            EMPTY => self.fill(at, situation),
            CONTESTED => self.contest(at),
            cell => Transfer::ALL[usize::from(cell) - 1],
        }
    }

    #[cold]
    fn fill(&self, at: usize, situation: &Situation) -> Transfer {
        let choice = self.explain(situation);
        let transfer = choice.transfer;
        if self.asked == Mechanism::Auto
            && rules::CONTEST.is_on()
            && let Some(rival) = choice.rival(situation)
        {
            let contest = match transfer.by() {
                None => ([transfer, rival], 0),
                Some(_) => ([rival, transfer], 1),
            };
            self.contests.borrow_mut().ways.insert(at, contest);
            self.cells[at].set(CONTESTED);
            return self.contest(at);
        }
        let number = Transfer::ALL.iter().position(|known| *known == transfer);
        self.cells[at].set(number.expect("one of all") as u8 + 1);
        transfer
    }

    /// The next transfer of a contest. Only long messages come here.
    #[cold]
    fn contest(&self, at: usize) -> Transfer {
        let mut contests = self.contests.borrow_mut();
        let (ways, presumed) = contests.ways[&at];
        let way = contests.rounds.way(at, clock::nanoseconds, || Trial::presuming(presumed));
        if way != presumed {
            rules::CONTEST.count_one();
        }
        ways[way]
    }

    /// The program waits: its next transfers are another round of theirs.
    pub fn end_round(&self) {
        self.contests.borrow_mut().rounds.end_round();
    }

    /// Messages of fewer bytes go sooner in packets, at once, than into a receive that is published for them while its owner
    /// waits; `shared`: both buffers are; `kernel`: it copies between the two. `u64::MAX`: all that go at once, up to `eager`.
    pub fn packets_below(&self, placement: Placement, shared: bool, kernel: bool, eager: u64) -> u64 {
        let situation = |size| Situation {
            size,
            stage: Stage::Published,
            source_shared: shared,
            target_shared: shared,
            push: kernel,
            placement,
            ..Situation::default()
        };
        let sizes = std::iter::successors(Some(SMALLEST), |size| Some(2 * size)).take_while(|&size| size <= eager);
        let pays = |size: u64, choice: Choice| match self.asked {
            Mechanism::Auto => choice.pays_to_publish(size, self.costs().publishing(placement)),
            _ => choice.transfer.by().is_some(),
        };
        sizes.into_iter().find(|&size| pays(size, self.explain(&situation(size)))).unwrap_or(u64::MAX)
    }

    /// From so many bytes on a message between private memories may be there sooner if a receiver that waits has the kernel copy it
    /// alone than in packets: both ways should be tried. `u64::MAX`: never.
    pub fn kernel_fetches_from(&self, placement: Placement) -> u64 {
        let longer = std::iter::successors(Some(SMALLEST), |size| Some(2 * size)).take_while(|&size| size <= LARGEST);
        let longer = longer.skip_while(|&size| size < FETCHED_BY_KERNEL_FROM);
        let mut sizes = std::iter::once(FETCHED_BY_KERNEL_FROM).chain(longer);
        let pays = |&size: &u64| match self.asked {
            Mechanism::Auto => may_fetch_by_kernel(self.costs(), placement, size),
            asked => matches!(asked, Mechanism::Cma | Mechanism::Module),
        };
        sizes.find(pays).unwrap_or(u64::MAX)
    }

    /// The mechanism that was asked for.
    pub fn asked(&self) -> Mechanism {
        self.asked
    }

    /// The choice that [`Chooser::pick`] gives, unless a rival of it is tried, with the predictions that
    /// led to it.
    pub fn explain(&self, situation: &Situation) -> Choice {
        choose(self.costs(), self.asked, &rounded(situation))
    }
}

/// The class of a size.
#[inline]
fn class(size: u64) -> usize {
    let log = (size | 1).ilog2();
    if log < FIRST {
        return 0;
    }
    let quarter = (size >> (log - 2)) as usize & 3;
    (((log - FIRST) as usize) << 2 | quarter).min(CLASSES - 1)
}

/// A size that stands for all of its class: its middle.
fn middle(class: usize) -> u64 {
    if class == 0 {
        return 1 << FIRST;
    }
    let eighth = 1u64 << (FIRST - 3 + (class as u32 >> 2));
    eighth * (8 + 2 * (class as u64 & 3) + 1)
}

/// The class of a block: contiguous, below 64 bytes, below 1 KiB, larger.
#[inline]
fn block_class(block: u64) -> usize {
    match block {
        0 => 0,
        1..64 => 1,
        64..1024 => 2,
        _ => 3,
    }
}

/// The situation with size and block replaced by those that stand for their class.
fn rounded(situation: &Situation) -> Situation {
    Situation {
        size: middle(class(situation.size)),
        block: [0, 16, 256, 4096][block_class(situation.block)],
        ..*situation
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
        | (situation.placement as usize) << 12;
    bits * CLASSES + class(situation.size)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn classes_follow_sizes() {
        assert_eq!(class(0), 0);
        assert_eq!(class(319), 0);
        assert_eq!(class(320), 1);
        assert_eq!(class(512), 4);
        assert_eq!(class(1 << 20), 48);
        assert_eq!(class(15 << 20), 63);
        assert_eq!(class(u64::MAX), 63);
        let sizes = (0..62).flat_map(|log| [4, 5, 6, 7].map(|quarter| quarter << log));
        let classes: Vec<usize> = sizes.map(class).collect();
        assert!(classes.is_sorted());
        for number in 0..CLASSES {
            assert_eq!(class(middle(number)), number);
        }
    }

    #[test]
    fn packets_end_where_a_published_receive_is_sooner() {
        let load = || Costs::default();
        let below =
            |asked, shared, kernel| Chooser::new(load, asked).packets_below(Placement::Cache, shared, kernel, 64 << 10);
        let shared = below(Mechanism::Auto, true, false);
        assert!((8 << 10..=64 << 10).contains(&shared), "{shared}");
        assert_eq!(below(Mechanism::Auto, false, false), u64::MAX, "there is no other way");
        assert_eq!(below(Mechanism::Mapped, true, true), 4 << 10, "what was asked for is possible");
        assert_eq!(below(Mechanism::Cma, false, true), 4 << 10);
        assert_eq!(below(Mechanism::Pipe, true, true), u64::MAX);
    }

    /// Every situation that the table tells apart, at one size.
    pub(crate) fn situations() -> Vec<Situation> {
        let mut all = Vec::new();
        for bits in 0..1usize << BITS {
            let bit = |number: u32| bits >> number & 1 == 1;
            let stages = [Stage::Unseen, Stage::Published, Stage::Requested];
            let (Some(stage), Some(placement)) = (stages.get(bits & 3), crate::Placement::ALL.get(bits >> 12)) else {
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
                placement: *placement,
            });
        }
        all
    }

    #[test]
    fn every_situation_has_a_cell_of_its_own() {
        let mut cells = HashMap::new();
        for situation in situations() {
            for size in [0, 1 << 10, 1 << 20] {
                let situation = Situation { size, ..situation };
                let other = cells.insert(index(&situation), situation);
                assert_eq!(other, None, "{situation:?}");
            }
        }
    }

    #[test]
    fn the_table_repeats_what_choose_said() {
        let chooser = Chooser::new(Costs::default, Mechanism::Auto);
        for situation in situations() {
            let chosen = choose(&Costs::default(), Mechanism::Auto, &rounded(&situation));
            let expected = [Some(chosen.transfer), chosen.rival(&rounded(&situation))];
            for _ in 0..20 {
                chooser.end_round();
                assert!(expected.contains(&Some(chooser.pick(&situation))));
            }
            assert!(expected.into_iter().flatten().all(|transfer| situation.allows(transfer)));
        }
    }
}
