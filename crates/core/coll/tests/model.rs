//! Every collective with each way forced, against what the standard says it does.

mod common;

use common::cases::{ALL, Case};
use proptest::prelude::*;
use tern_coll::{Selection, able};

/// Names the case if it fails.
struct Named(String);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}", self.0);
        }
    }
}

fn run_one(which: usize, way: usize, size: usize, remote: usize, units: usize, seed: u64) {
    let (name, run, collective, _) = ALL[which];
    let able = able(collective);
    let forced = able[way % able.len()];
    let mut selection = Selection::default();
    selection.force(collective, forced);
    selection.regions_from = 1 + seed as usize % 3 * 20;
    let _named = Named(format!("{name} by {forced}: {size} processes, {remote} remote, {units} units, seed {seed}"));
    run(&Case::new(selection, size, remote, units, seed));
}

/// All ways of `name` for all process counts.
fn every(name: &str) {
    let which = ALL.iter().position(|c| c.0 == name).unwrap();
    for way in 0..able(ALL[which].2).len() {
        for size in (1..=9).chain([16, 17]) {
            for (seed, units) in [0, 1, 2, 3, 5, 17, 40].into_iter().enumerate() {
                for again in 0..if size < 10 { 4 } else { 1 } {
                    let seed = (seed * 1000 + size * 10 + again) as u64;
                    run_one(which, way, size, 0, units, seed);
                }
            }
        }
    }
    if ALL[which].3 {
        for (a, b) in [(1, 1), (1, 2), (2, 1), (2, 3), (3, 4), (5, 2), (4, 4), (1, 7), (8, 3)] {
            for (seed, units) in [0, 1, 2, 7, 30].into_iter().enumerate() {
                run_one(which, seed, a, b, units, seed as u64);
            }
        }
    }
}

macro_rules! every {
    ($($name:ident)+) => { $(#[test] fn $name() { every(stringify!($name)); })+ };
}

every! {
    barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv
    alltoallw reduce allreduce reduce_scatter reduce_scatter_block scan exscan
}

#[test]
fn large_broadcasts_go_in_segments() {
    let which = ALL.iter().position(|c| c.0 == "bcast").unwrap();
    for way in 0..able(ALL[which].2).len() {
        for size in [2, 3, 6] {
            run_one(which, way, size, 0, 30_001, size as u64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn anything(
        which in 0..ALL.len(),
        way in 0..8usize,
        size in 1..=9usize,
        remote in prop_oneof![Just(0usize), 1..=6usize],
        units in 0..50usize,
        seed in any::<u64>(),
    ) {
        let remote = if ALL[which].3 { remote } else { 0 };
        run_one(which, way, size, remote, units, seed);
    }
}
