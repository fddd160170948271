//! Trials that compete, by made-up costs and generated sequences of transfers.

use super::*;
use crate::Trial;
use crate::rounds::{Kinds, Trials};
use crate::trial::{JointTrial, TURN, TURNS};

const CELL: Cell = Cell(14);

fn id(kind: usize) -> TrialId {
    TrialId::new(u64::MAX, kind)
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

#[test]
fn one_trial_at_a_time_runs_in_a_cell() {
    let mut coordinator = Coordinator::default();
    assert!(coordinator.may_run(CELL, id(1)));
    assert!(!coordinator.may_run(CELL, id(2)));
    assert!(coordinator.may_run(Cell(15), id(2)), "another cell");
    assert!(coordinator.may_run(CELL, id(1)), "it goes on");
    coordinator.end(CELL, id(2));
    assert!(coordinator.runs(CELL, id(1)), "only the one that runs ends");
    coordinator.end(CELL, id(1));
    assert!(coordinator.may_run(CELL, id(2)));
}

#[test]
fn a_trial_without_transfers_loses_its_cell() {
    let mut coordinator = Coordinator::default();
    assert!(coordinator.may_run(CELL, id(1)));
    let refused = (0..).take_while(|_| !coordinator.may_run(CELL, id(2))).count();
    assert_eq!(refused, PATIENCE as usize);
    assert!(!coordinator.may_run(CELL, id(1)), "it begins anew when it has the cell again");
}

#[test]
fn what_processes_try_together_comes_first() {
    let mut coordinator = Coordinator::default();
    assert!(coordinator.may_run(CELL, id(1)));
    coordinator.seize(CELL, id(2));
    assert!(!coordinator.may_run(CELL, id(1)));
    coordinator.end(CELL, id(2));
    assert!(coordinator.may_run(CELL, id(1)));
}

#[test]
fn a_trial_yields_to_that_of_a_peer_and_others_go_on() {
    let mut coordinator = Coordinator::default();
    assert!(coordinator.may_run(CELL, id(1)));
    coordinator.yield_to_peer(CELL, id(2), 10);
    assert!(coordinator.may_run(CELL, id(1)), "it is not the one that would be disturbed");
    coordinator.end(CELL, id(1));
    assert!(coordinator.may_run(CELL, id(2)));
    coordinator.yield_to_peer(CELL, id(2), 10);
    assert_eq!((0..).take_while(|_| !coordinator.may_run(CELL, id(2))).count(), 10);
}

/// Whoever steps holds the cell until it ends, or the others have been refused often enough: for any sequence.
#[test]
fn two_trials_never_overlap() {
    for seed in 1..200 {
        let (mut random, mut coordinator) =
            (Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed)), Coordinator::default());
        let (mut running, mut refused) = (None, 0);
        for _ in 0..2000 {
            let trial = random.below(4) as usize;
            if random.below(20) == 0 {
                coordinator.end(CELL, id(trial));
                running = running.filter(|&other| other != trial);
                continue;
            }
            let free = running.is_none_or(|other| other == trial) || refused == PATIENCE;
            assert_eq!(coordinator.may_run(CELL, id(trial)), free, "seed {seed}");
            (running, refused) = if free { (Some(trial), 0) } else { (running, refused + 1) };
        }
    }
}

/// Trials of what is done with each transfer, for each of its aspects: the transfer takes what all aspects take. Returns how many of the last
/// thousand went by way 1 in each aspect.
fn together<const N: usize>(transfers: u32, took: [[u64; 2]; N]) -> [u32; N] {
    let coordinator = SharedCoordinator::default();
    let mut tables: [Trials; N] = std::array::from_fn(|_| Trials::new(&coordinator));
    let (mut now, mut others) = (0, [0; N]);
    for number in 0..transfers {
        let mut all = 0;
        for aspect in 0..N {
            let way = tables[aspect].way(7, CELL, || now);
            all += took[aspect][way];
            others[aspect] += if number + 1000 >= transfers { way as u32 } else { 0 };
        }
        now += all;
    }
    others
}

#[test]
fn each_has_its_turn_and_ends_as_if_it_were_alone() {
    let mut random = Random(77);
    for _ in 0..50 {
        let took: [[u64; 2]; 3] = std::array::from_fn(|_| {
            let (first, change) = (1000, 300 + random.below(600));
            if random.below(2) == 0 { [first, first + change] } else { [first, first - change] }
        });
        let others = together(5000, took);
        for (aspect, took) in took.iter().enumerate() {
            let [alone] = together(5000, [*took]);
            assert_eq!(alone > 500, took[1] < took[0]);
            assert_eq!(others[aspect] > 500, alone > 500, "{took:?}: {others:?}, alone {alone}");
        }
    }
}

#[test]
fn a_trial_alone_is_not_changed_by_the_coordinator() {
    let (mut plain, mut tables, mut now) = (Trial::default(), Trials::default(), 0);
    for number in 0..3000 {
        let way = plain.way(|| now, number > 0);
        assert_eq!(tables.way(3, Cell(20), || now), way, "transfer {number}");
        now += [100, 90][way] + number % 7;
    }
}

#[test]
fn a_joint_trial_holds_its_cell_until_it_has_decided() {
    let coordinator = SharedCoordinator::default();
    let (mut joint, mut single, mut now) = (Kinds::<JointTrial>::new(&coordinator), Trials::new(&coordinator), 0);
    let cell = Cell(21);
    for number in 0..TURN * TURNS {
        let (trial, same) = joint.begin_joint(1, cell);
        assert!(trial.way(|| now, same).is_some());
        assert_eq!(single.way(1, cell, || now), 0, "transfer {number}: it waits");
        now += 100;
    }
    let (trial, same) = joint.begin_joint(1, cell);
    assert_eq!(trial.way(|| now, same), None, "it is to be decided");
    trial.decide(Some([100, 200]));
    joint.begin_joint(1, cell);
    let others = (0..TURN * TURNS).map(|_| single.way(1, cell, || 0) as u32).sum::<u32>();
    assert!(others > 0, "the other has its turn");
}
