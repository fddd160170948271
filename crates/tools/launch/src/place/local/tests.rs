use proptest::prelude::*;

use super::*;
use crate::place::{bind_by, map_by, rank_by};

/// A machine: packages, NUMA nodes in each, L3 caches in each of those, cores in each, threads in each. Second-level
/// caches have two cores each. First threads are numbered before all second ones.
fn machine(packages: usize, nodes: usize, caches: usize, cores: usize, threads: usize) -> Shape {
    let all = packages * nodes * caches * cores;
    let thread = |number: usize| {
        let core = number % all;
        let cache = core / cores;
        Thread::new(number, [core, core, core / 2, cache, cache / caches, cache / caches / nodes])
    };
    Shape::new((0..all * threads).map(thread).collect())
}

fn policy(words: &str) -> Policy {
    let mut policy = Policy::default();
    for word in words.split_whitespace() {
        match word.split_once('/').expect("kind/value") {
            ("map", value) => map_by(value, &mut policy).expect(value),
            ("rank", value) => policy.rank = Some(rank_by(value).expect(value)),
            ("bind", value) => bind_by(value, &mut policy).expect(value),
            ("set", value) => policy.cpus = Some(crate::place::cpus("--cpu-set", value).expect(value)),
            _ => panic!("{word}"),
        }
    }
    policy
}

/// A picture for each rank.
fn pictures(words: &str, shape: &Shape, ranks: usize) -> Vec<String> {
    match places(&policy(words), shape, ranks) {
        Ok(Places::Bound(bound)) => bound.iter().map(|threads| shape.picture(threads)).collect(),
        other => panic!("{words}: {other:?}"),
    }
}

#[test]
fn as_open_mpi_prints_it() {
    // Two packages of four cores with two threads each.
    let small = machine(2, 1, 1, 4, 2);
    let cases: &[(&str, &[&str])] = &[
        ("map/core", &["[BB/../../..][../../../..]", "[../BB/../..][../../../..]", "[../../BB/..][../../../..]"]),
        ("map/socket", &["[BB/BB/BB/BB][../../../..]", "[../../../..][BB/BB/BB/BB]", "[BB/BB/BB/BB][../../../..]"]),
        (
            "map/socket bind/core",
            &["[BB/../../..][../../../..]", "[../../../..][BB/../../..]", "[../BB/../..][../../../..]"],
        ),
        ("bind/core", &["[BB/../../..][../../../..]", "[../BB/../..][../../../..]"]),
        ("map/core bind/socket", &["[BB/BB/BB/BB][../../../..]", "[BB/BB/BB/BB][../../../..]"]),
        ("bind/hwthread", &["[B./../../..][../../../..]", "[.B/../../..][../../../..]", "[../B./../..][../../../..]"]),
        ("map/hwthread", &["[B./../../..][../../../..]", "[.B/../../..][../../../..]"]),
        ("map/slot:PE=2", &["[BB/BB/../..][../../../..]", "[../../BB/BB][../../../..]", "[../../../..][BB/BB/../..]"]),
        ("map/core:PE=2", &["[BB/BB/../..][../../../..]", "[../../BB/BB][../../../..]"]),
        ("bind/core:2", &["[BB/BB/../..][../../../..]", "[../../BB/BB][../../../..]"]),
        (
            "map/socket:PE=2",
            &["[BB/BB/../..][../../../..]", "[../../../..][BB/BB/../..]", "[../../BB/BB][../../../..]"],
        ),
        (
            "map/ppr:2:socket",
            &["[BB/BB/BB/BB][../../../..]", "[BB/BB/BB/BB][../../../..]", "[../../../..][BB/BB/BB/BB]"],
        ),
        (
            "map/ppr:2:socket:pe=2",
            &[
                "[BB/BB/../..][../../../..]",
                "[../../BB/BB][../../../..]",
                "[../../../..][BB/BB/../..]",
                "[../../../..][../../BB/BB]",
            ],
        ),
        (
            "map/ppr:2:socket bind/core rank/socket",
            &[
                "[BB/../../..][../../../..]",
                "[../../../..][BB/../../..]",
                "[../BB/../..][../../../..]",
                "[../../../..][../BB/../..]",
            ],
        ),
        (
            "map/socket bind/core rank/core",
            &[
                "[BB/../../..][../../../..]",
                "[../BB/../..][../../../..]",
                "[../../../..][BB/../../..]",
                "[../../../..][../BB/../..]",
            ],
        ),
        (
            "map/socket rank/fill",
            &[
                "[BB/BB/BB/BB][../../../..]",
                "[BB/BB/BB/BB][../../../..]",
                "[../../../..][BB/BB/BB/BB]",
                "[../../../..][BB/BB/BB/BB]",
            ],
        ),
        ("bind/l2cache", &["[BB/BB/../..][../../../..]", "[BB/BB/../..][../../../..]", "[../../BB/BB][../../../..]"]),
        ("bind/board", &["[BB/BB/BB/BB][BB/BB/BB/BB]"]),
        ("map/slot", &["[BB/BB/BB/BB][../../../..]", "[../../../..][BB/BB/BB/BB]"]),
        (
            "map/socket bind/core set/1,2,7",
            &["[../BB/../..][../../../..]".replace("BB", "B.").leak(), "[../../../..][../../../B.]"],
        ),
    ];
    for (words, expected) in cases {
        let ranks = expected.len();
        assert_eq!(pictures(words, &small, ranks), *expected, "{words}");
    }
}

#[test]
fn caches_and_numa_nodes() {
    // Two packages, two NUMA nodes in each, two L3 caches in each of those, two cores in each.
    let large = machine(2, 2, 2, 2, 1);
    let places = |words: &str, ranks| match super::places(&policy(words), &large, ranks) {
        Ok(Places::Bound(bound)) => bound,
        other => panic!("{words}: {other:?}"),
    };
    assert_eq!(
        places("map/numa", 5),
        [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9, 10, 11], vec![12, 13, 14, 15], vec![0, 1, 2, 3]]
    );
    assert_eq!(places("map/l3cache bind/core", 9), [[0], [2], [4], [6], [8], [10], [12], [14], [1]]);
    assert_eq!(places("map/ppr:1:l3cache", 3), [[0, 1], [2, 3], [4, 5]]);
    assert_eq!(places("map/numa:PE=3", 2), [[0, 1, 2], [4, 5, 6]]);
}

/// 2 packages of 6 third-level caches of 8 cores, as many of 64 to 128 cores are.
#[test]
fn ranks_with_threads_on_a_large_machine() {
    let large = machine(2, 1, 6, 8, 1);
    let lists = |words: &str, ranks| match super::places(&policy(words), &large, ranks) {
        Ok(Places::Bound(bound)) => bound.iter().map(|share| tern_node::list(share)).collect::<Vec<_>>(),
        other => panic!("{words}: {other:?}"),
    };
    let caches: Vec<String> = (0..12).map(|cache| format!("{}-{}", cache * 8, cache * 8 + 7)).collect();
    for words in ["map/slot", "map/slot:PE=8", "map/core:PE=8", "map/l3cache", "map/l3:PE=8", "map/ppr:1:l3cache:pe=8"]
    {
        assert_eq!(lists(words, 12), caches, "{words}");
    }
    // One package after the other, or in turns, or with as much room as there is.
    assert_eq!(lists("map/package:PE=8", 3), ["0-7", "48-55", "8-15"]);
    assert_eq!(lists("map/package:PE=8:FILL", 3), ["0-7", "8-15", "16-23"]);
    assert_eq!(lists("map/core:PE=8:SPREAD", 3), ["0-7", "32-39", "64-71"]);
    assert_eq!(lists("map/l3cache:FILL bind/core", 9)[7..], ["7", "8"]);
    assert_eq!(lists("map/core:SPREAD", 12), (0..12).map(|cache| (cache * 8).to_string()).collect::<Vec<_>>());
    assert_eq!(lists("map/l3cache:SPREAD", 2), ["0-7", "48-55"]);
    assert_eq!(lists("map/:SPREAD", 4), ["0", "24", "48", "72"]);
    // So many of each part, which are far apart inside of it; the last part has what is left.
    assert_eq!(lists("map/ppr:2:package:SPREAD bind/core", 4), ["0", "24", "48", "72"]);
    assert_eq!(lists("map/ppr:3:package:SPREAD bind/core", 5), ["0", "16", "32", "48", "72"]);
    assert_eq!(lists("map/ppr:2:l3cache:PE=2:SPREAD", 3), ["0-1", "4-5", "8-9"]);
    assert_eq!(lists("map/core", 96).last().map(String::as_str), Some("95"));
    assert_eq!(lists("map/l3cache:SPREAD rank/l3cache bind/core", 24)[..2], ["0", "8"]);
}

#[test]
fn sharing_cores_is_for_those_who_ask() {
    let two = machine(1, 1, 1, 2, 1);
    let places = |words: &str, ranks| super::places(&policy(words), &two, ranks);
    assert_eq!(places("map/slot", 3).map(|places| matches!(places, Places::Free(_))), Ok(true));
    assert_eq!(places("map/core", 3), Ok(Places::Free(None)));
    match places("bind/core", 3) {
        Ok(Places::Free(Some(why))) => assert!(why.contains("need 3 cores, and there are 2"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(places("bind/core:overload-allowed", 3), Ok(Places::Bound(vec![vec![0], vec![1], vec![0]])));
    assert_eq!(places("bind/none", 3), Ok(Places::Free(None)));
}

#[test]
fn what_the_machine_does_not_have_is_told() {
    let shape = machine(2, 1, 1, 2, 1);
    let error = |words: &str, ranks| super::places(&policy(words), &shape, ranks).expect_err(words);
    assert_eq!(error("map/socket:PE=3", 1), "3 cores for each rank (PE=3): no package has as many");
    assert_eq!(error("map/ppr:1:socket", 3), "ppr:1:package places 2 ranks here, not 3");
    assert_eq!(error("map/ppr:1:socket:spread", 3), "ppr:1:package places 2 ranks here, not 3");
    assert_eq!(error("map/ppr:3:socket", 3), "ppr:3:package: one of them has 2 cores, too few for its ranks");
    assert!(error("set/77", 1).contains("77"));
}

#[test]
fn named_threads_in_their_order() {
    let shape = machine(1, 1, 1, 4, 2);
    let ordered = Policy { cpus: Some(vec![6, 1, 99, 3]), ordered: true, ..Policy::default() };
    assert_eq!(places(&ordered, &shape, 2), Ok(Places::Bound(vec![vec![6], vec![1]])));
    assert!(matches!(places(&ordered, &shape, 4), Ok(Places::Free(Some(_)))));
}

proptest! {
    /// Every rank has a place that exists; nobody shares what is dealt out one by one.
    #[test]
    fn every_rank_has_a_place(
        (packages, nodes, caches, cores, threads) in (1usize..3, 1usize..3, 1usize..3, 1usize..5, 1usize..3),
        map in "slot|node|core|hwthread|l2cache|l3cache|numa|package|core:PE=2|numa:PE=2|ppr:2:numa|ppr:1:package",
        rank in "|slot|node|fill|span|core|package", bind in "|core|hwthread|numa|package", ranks in 1usize..20,
        kept in proptest::collection::vec(any::<bool>(), 64),
    ) {
        let whole = machine(packages, nodes, caches, cores, threads);
        let allowed: Vec<usize> = (0..whole.threads().len()).filter(|at| kept[*at]).collect();
        let shape = whole.only(&allowed);
        prop_assume!(!allowed.is_empty());
        let mut asked = policy(&format!("map/{map}"));
        if !rank.is_empty() { asked.rank = Some(rank_by(&rank).unwrap()); }
        if !bind.is_empty() { bind_by(&bind, &mut asked).unwrap(); }
        let Ok(Places::Bound(bound)) = places(&asked, &shape, ranks) else { return Ok(()) };
        prop_assert_eq!(bound.len(), ranks);
        prop_assert!(bound.iter().all(|place| !place.is_empty() && place.iter().all(|cpu| allowed.contains(cpu))));
        let alone = matches!(asked.bind, Bind::Unit(Unit::Core | Unit::Thread)) || bind.is_empty() && asked.each.is_some();
        if alone && !(asked.threads && bind == "core") {
            let mut all = bound.concat();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), count, "a thread is given twice");
        }
        // Numbering changes who is where, and not where somebody is.
        let plain = places(&Policy { rank: None, ..asked }, &shape, ranks);
        let sorted = |mut places: Vec<Vec<usize>>| { places.sort(); places };
        let Ok(Places::Bound(plain)) = plain else { panic!("{plain:?}") };
        prop_assert_eq!(sorted(plain), sorted(bound));
    }

    /// Ranks that are mapped to parts in turns are spread evenly, as long as the parts have room.
    #[test]
    fn parts_have_as_many_ranks(packages in 1usize..4, cores in 1usize..5, ranks in 1usize..12) {
        let shape = machine(packages, 1, 1, cores, 1);
        let Ok(Places::Bound(bound)) = places(&policy("map/package bind/core"), &shape, ranks) else { return Ok(()) };
        let mut counts = vec![0; packages];
        bound.iter().for_each(|place| counts[place[0] / cores] += 1);
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
    }
}
