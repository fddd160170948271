//! Every collective with each way forced while a connection breaks, or a process dies, after any number of messages: nobody
//! waits for ever, who gets no error has the right data, and an error names who is lost. Nothing is left over that a later round
//! could take for its own.

mod common;

use common::cases::{ALL, Case};
use common::network::{Cut, Losses};
use proptest::prelude::*;
use tern_coll::{Failure, Forced, Selection, able};

/// One collective with such losses.
fn run_one(which: usize, way: usize, case: Case) {
    let (name, run, collective, _) = ALL[which];
    let able = able(collective);
    let way = able[way % able.len()];
    let mut case = case;
    case.selection.force(collective, way);
    case.selection.regions_from = 1;
    let label = format!(
        "{name} by {way}: {} processes, {} remote, {} units, {} rounds, seed {}, {:?}",
        case.size, case.remote, case.units, case.rounds, case.seed, case.losses
    );
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&case)));
    assert!(done.is_ok(), "{label}");
    let outcomes = case.outcomes.borrow();
    let failed: Vec<Failure> = outcomes.iter().flatten().filter_map(|outcome| outcome.err()).collect();
    for failure in failed.iter().chain(case.earlier.borrow().iter()) {
        let Failure::Lost(process) = *failure else { panic!("{label}: {failure:?}") };
        let named = match case.losses.dies {
            Some((dead, _)) => process as usize == dead,
            None => case.losses.cuts.iter().any(|cut| [cut.pair.0, cut.pair.1].contains(&(process as usize))),
        };
        assert!(named, "{label}: process {process} is not lost");
    }
    // Nobody passes a barrier that one has not come to.
    if name == "barrier" && case.losses.dies.is_some_and(|(_, after)| after == 0) {
        let survivors = outcomes.iter().flatten().count();
        assert_eq!(failed.len(), survivors, "{label}");
    }
}

/// The connection between two of `all`, given by any numbers.
fn cut(all: usize, a: usize, b: usize, after: usize) -> Losses {
    let a = a % all;
    let cuts = vec![Cut { pair: (a, (a + 1 + b % (all - 1)) % all), after }];
    Losses { cuts, dies: None }
}

/// One of `all` dies, which the others notice at different times.
fn death(all: usize, dead: usize, after: usize, later: &[usize]) -> Losses {
    let dead = dead % all;
    let others = (0..all).filter(|other| *other != dead);
    let cuts = others.map(|other| Cut { pair: (dead, other), after: after + later[other] }).collect();
    Losses { cuts, dies: Some((dead, after)) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn right_data_or_an_error(
        (which, way) in (0..ALL.len(), 0..8usize),
        size in 2..=9usize,
        remote in prop_oneof![2 => Just(0usize), 1 => 1..=5usize],
        units in prop_oneof![0..4usize, 4..50usize],
        seed in any::<u64>(),
        dies in any::<bool>(),
        (a, b, after) in (0..100usize, 0..100usize, 0..40usize),
        later in prop::collection::vec(0..10usize, 14),
        rounds in 1..=3usize,
    ) {
        let remote = if ALL[which].3 { remote } else { 0 };
        let mut case = Case::new(Selection::default(), size, remote, units, seed);
        case.rounds = rounds;
        let (all, after) = (size + remote, after * rounds);
        case.losses = if dies { death(all, a, after, &later) } else { cut(all, a, b, after) };
        run_one(which, way, case);
    }
}

/// Nobody passes a barrier to which one has never come.
#[test]
fn a_barrier_without_one() {
    let which = ALL.iter().position(|case| case.0 == "barrier").unwrap();
    for size in 2..=9 {
        for dead in 0..size {
            for seed in 0..20 {
                let mut case = Case::new(Selection::default(), size, 0, 0, seed);
                case.losses = death(size, dead, 0, &[3; 9]);
                run_one(which, 0, case);
            }
        }
    }
}

/// What a lost member has sent behind a message that was cut off is not taken for something else when the collective starts again.
#[test]
fn by_region_nothing_is_left_for_the_next_round() {
    for which in (0..ALL.len()).filter(|&which| able(ALL[which].2).contains(&Forced::Region)) {
        let way = able(ALL[which].2).iter().position(|forced| *forced == Forced::Region).unwrap();
        for (size, after) in (2..=3).flat_map(|size| (0..20).map(move |after| (size, after))) {
            for seed in 0..50 {
                let mut case = Case::new(Selection::default(), size, 0, 3, seed);
                case.losses = cut(size, 0, 0, after);
                case.rounds = 3;
                run_one(which, way, case);
            }
        }
    }
}
