//! Each rank's share of a machine, where nothing else is asked for.

use tern_node::{Shape, Thread, Unit};

/// The kinds of part that a share does not reach over if it can, from the outside in.
const UNITS: [Unit; 3] = [Unit::Package, Unit::Numa, Unit::L3];

/// The hardware threads of each rank: contiguous shares of whole cores, equal but for a remainder. Where every rank still has as many cores as
/// `cores / ranks` then, a share lies in one package, one NUMA node, one third-level cache. With more ranks than cores, shares are of
/// hardware threads; with more than those there are none (`None`).
pub fn shares(shape: &Shape, ranks: usize) -> Option<Vec<Vec<usize>>> {
    if ranks > shape.threads().len() {
        return None;
    }
    let mut all = Vec::with_capacity(ranks);
    if let Some(least) = count(shape.threads()).checked_div(ranks) {
        divide(shape.threads(), ranks, least, &UNITS, &mut all);
    }
    Some(all)
}

fn parts(threads: &[Thread], unit: Unit) -> Vec<Vec<Thread>> {
    Shape::new(threads.to_vec()).parts(unit)
}

/// Processor cores.
fn count(threads: &[Thread]) -> usize {
    parts(threads, Unit::Core).len()
}

fn divide(threads: &[Thread], ranks: usize, least: usize, units: &[Unit], all: &mut Vec<Vec<usize>>) {
    let Some((unit, inner)) = units.split_first() else { return contiguous(threads, ranks, all) };
    let parts = parts(threads, *unit);
    match counts(&parts, ranks, least) {
        Some(counts) => parts.iter().zip(counts).for_each(|(part, ranks)| divide(part, ranks, least, inner, all)),
        None => divide(threads, ranks, least, inner, all),
    }
}

/// How many ranks each part gets, in proportion to its cores: each one or more, and not more than leave `least` cores for each of them.
fn counts(parts: &[Vec<Thread>], ranks: usize, least: usize) -> Option<Vec<usize>> {
    let cores: Vec<usize> = parts.iter().map(|part| count(part)).collect();
    let all: usize = cores.iter().sum();
    let ends = cores.iter().scan(0, |before, cores| {
        *before += cores;
        Some(*before * ranks / all)
    });
    let ends: Vec<usize> = std::iter::once(0).chain(ends).collect();
    let counts: Vec<usize> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let fits = |((part, cores), &count): ((&Vec<Thread>, &usize), &usize)| {
        count > 0 && count <= part.len() && cores / count >= least
    };
    parts.iter().zip(&cores).zip(&counts).all(fits).then_some(counts)
}

/// Shares of cores, or of threads if there are more ranks than cores.
fn contiguous(threads: &[Thread], ranks: usize, all: &mut Vec<Vec<usize>>) {
    let cores = parts(threads, Unit::Core);
    let pieces: Vec<Vec<Thread>> = match ranks <= cores.len() {
        true => cores,
        false => threads.iter().map(|thread| vec![*thread]).collect(),
    };
    let edge = |rank: usize| rank * pieces.len() / ranks;
    all.extend(
        (0..ranks)
            .map(|rank| pieces[edge(rank)..edge(rank + 1)].iter().flatten().map(|thread| thread.number).collect()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_node::list;

    /// Packages, NUMA nodes in each, third-level caches in each of those, cores in each, threads in each.
    fn machine([packages, nodes, caches, cores, threads]: [usize; 5]) -> Shape {
        let all = packages * nodes * caches * cores;
        let thread = |number: usize| {
            let core = number % all;
            let cache = core / cores;
            Thread::new(number, [core, core, core, cache, cache / caches, cache / caches / nodes])
        };
        Shape::new((0..all * threads).map(thread).collect())
    }

    fn lists(shape: &Shape, ranks: usize) -> Vec<String> {
        shares(shape, ranks).expect("as many threads").iter().map(|share| list(share)).collect()
    }

    #[test]
    fn two_packages_of_six_caches_of_eight_cores() {
        let milan = machine([2, 1, 6, 8, 1]);
        let lengths =
            |ranks| -> Vec<usize> { shares(&milan, ranks).expect("as many threads").iter().map(Vec::len).collect() };
        assert_eq!((lengths(96), lengths(48), lengths(12)), (vec![1; 96], vec![2; 48], vec![8; 12]));
        assert_eq!(lists(&milan, 12)[5..7], ["40-47", "48-55"]);
        assert_eq!(lists(&milan, 8)[..3], ["0-11", "12-23", "24-35"]);
        // 64 ranks have one or two cores each, and none has cores of two caches.
        let shares_of_64 = shares(&milan, 64).expect("as many threads");
        assert!(shares_of_64.iter().all(|share| reaches(&milan, share, Unit::L3) == 1), "{shares_of_64:?}");
        // A share would be smaller than a fifth of the machine in a package of three: nothing is kept together.
        assert_eq!(lists(&milan, 5), ["0-18", "19-37", "38-56", "57-75", "76-95"]);
        assert_eq!(shares(&milan, 97), None);
    }

    #[test]
    fn cores_are_not_cut_while_there_are_enough() {
        let two = machine([1, 1, 1, 4, 2]);
        assert_eq!(lists(&two, 3), ["0,4", "1,5", "2-3,6-7"]);
        assert_eq!(lists(&two, 4), ["0,4", "1,5", "2,6", "3,7"]);
        assert_eq!(lists(&two, 6).concat().len(), 6 + 2 * 2);
    }

    fn reaches(shape: &Shape, share: &[usize], unit: Unit) -> usize {
        shape.only(share).parts(unit).len()
    }

    proptest! {
        #[test]
        fn everything_is_given_once_and_nobody_has_less_than_an_equal_share(
            packages in 1usize..4, nodes in 1usize..4, caches in 1usize..4, cores in 1usize..9, threads in 1usize..3,
            ranks in 1usize..120,
        ) {
            let shape = machine([packages, nodes, caches, cores, threads]);
            let all = packages * nodes * caches * cores;
            let Some(shares) = shares(&shape, ranks) else {
                prop_assert!(ranks > all * threads);
                return Ok(());
            };
            prop_assert_eq!(shares.len(), ranks);
            let mut given = shares.concat();
            given.sort_unstable();
            prop_assert_eq!(given, (0..all * threads).collect::<Vec<_>>());
            for share in &shares {
                prop_assert!(!share.is_empty());
                prop_assert!(ranks > all || reaches(&shape, share, Unit::Core) >= all / ranks);
                // What divides evenly reaches over nothing.
                let groups = packages * nodes * caches;
                if ranks % groups == 0 {
                    prop_assert_eq!(reaches(&shape, share, Unit::L3), 1);
                }
            }
        }
    }
}
