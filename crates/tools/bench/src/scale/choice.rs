//! Which collectives, ranks and sizes are measured.

use super::machine::Level;
use std::collections::BTreeSet;

/// Sizes in bytes, unless `--sizes` says.
const SIZES: [u64; 10] = [8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const QUICK_SIZES: [u64; 3] = [8, 4 << 10, 64 << 10];
/// The largest that the benchmark program takes, and how many.
const LARGEST: u64 = 1 << 30;
const MOST_SIZES: usize = 64;
/// The buffers of a job have at most one part in so many of the machine's memory, or of what a limit leaves of it.
pub const MEMORY_SHARE: u64 = 4;

/// Collectives whose buffers grow alike with the ranks, so that one launch measures all of them.
#[derive(Debug)]
pub struct Group {
    pub name: &'static str,
    pub benchmarks: &'static [&'static str],
    /// Blocks of one size in the buffers of one rank: so many, and so many for each rank of the job.
    blocks: [u64; 2],
}

pub const GROUPS: [Group; 3] = [
    Group { name: "plain", benchmarks: &["barrier", "bcast", "reduce", "allreduce", "scan", "exscan"], blocks: [2, 0] },
    Group { name: "blocks", benchmarks: &["allgather", "gather", "scatter", "reduce_scatter"], blocks: [1, 1] },
    Group { name: "pairs", benchmarks: &["alltoall"], blocks: [0, 2] },
];

impl Group {
    /// Bytes of the buffers of all ranks.
    fn buffers(&self, ranks: usize, size: u64) -> u64 {
        let ranks = ranks as u64;
        let [once, each] = self.blocks;
        (once + each * ranks).saturating_mul(ranks).saturating_mul(size)
    }

    /// Of these sizes those whose buffers have room in so many bytes, and those that do not.
    pub fn fitting(&self, ranks: usize, sizes: &[u64], memory: u64) -> (Vec<u64>, Vec<u64>) {
        sizes.iter().partition(|size| self.buffers(ranks, **size) <= memory / MEMORY_SHARE)
    }
}

/// The sizes that are measured where memory allows them.
///
/// Errors: a size that the benchmark program does not take.
pub fn sizes(given: &[u64], quick: bool) -> Result<Vec<u64>, String> {
    let sizes: &[u64] = match given {
        [] if quick => &QUICK_SIZES,
        [] => &SIZES,
        given => given,
    };
    if let Some(size) = sizes.iter().find(|size| **size == 0 || **size % 8 != 0 || **size > LARGEST) {
        return Err(format!("--sizes {size}: a size is a multiple of 8 and at most {LARGEST}"));
    }
    let sizes: Vec<u64> = sizes.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    match sizes.len() {
        count if count > MOST_SIZES => Err(format!("--sizes: {count} sizes, of which {MOST_SIZES} can be measured")),
        _ => Ok(sizes),
    }
}

/// The numbers of ranks that are measured, ascending: those that are given; or powers of two up to all cores, and the cores of each level. A quick look
/// takes two ranks and all. `crowded` adds two and four ranks for each core.
///
/// Errors: fewer than two ranks.
pub fn ranks(levels: &[Level], given: &[usize], quick: bool, crowded: bool) -> Result<Vec<usize>, String> {
    if let Some(few) = given.iter().find(|ranks| **ranks < 2) {
        return Err(format!("--ranks {few}: a collective has two ranks or more"));
    }
    let cores = levels.last().map_or(1, |level| level.cores);
    let mut ranks: BTreeSet<usize> = given.iter().copied().collect();
    if given.is_empty() {
        let doubled = std::iter::successors(Some(2), |ranks| Some(2 * ranks)).take_while(|ranks| *ranks <= cores);
        match quick {
            true => ranks.extend([2, cores]),
            false => ranks.extend(doubled.chain(levels.iter().map(|level| level.cores))),
        }
    }
    if crowded {
        ranks.extend([2 * cores, 4 * cores]);
    }
    // A machine of one core has no other choice than two ranks on it.
    ranks.remove(&1);
    if ranks.is_empty() {
        ranks.insert(2);
    }
    Ok(ranks.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::machine::levels;
    use crate::scale::tests::node;

    fn of(shape: [usize; 5]) -> Vec<usize> {
        ranks(&levels(&node(shape)), &[], false, false).unwrap()
    }

    #[test]
    fn ranks_fill_caches_nodes_packages_and_all() {
        // 2 x EPYC 7R13, 2 x EPYC 9654 with four NUMA nodes a package, 2 x Xeon 8375C, 4 x Grace, two cores.
        assert_eq!(of([2, 1, 6, 8, 2]), [2, 4, 8, 16, 32, 48, 64, 96]);
        assert_eq!(of([2, 4, 3, 8, 2]), [2, 4, 8, 16, 24, 32, 64, 96, 128, 192]);
        assert_eq!(of([2, 1, 1, 32, 2]), [2, 4, 8, 16, 32, 64]);
        assert_eq!(of([4, 1, 1, 72, 1]), [2, 4, 8, 16, 32, 64, 72, 128, 256, 288]);
        assert_eq!(of([1, 1, 1, 2, 1]), [2]);
        assert_eq!(of([1, 1, 1, 1, 2]), [2], "two ranks on one core");
    }

    #[test]
    fn ranks_are_given_or_more_than_the_cores() {
        let levels = levels(&node([1, 1, 2, 3, 1]));
        assert_eq!(ranks(&levels, &[], true, false).unwrap(), [2, 6]);
        assert_eq!(ranks(&levels, &[7, 3, 3], false, false).unwrap(), [3, 7]);
        assert_eq!(ranks(&levels, &[], true, true).unwrap(), [2, 6, 12, 24]);
        assert!(ranks(&levels, &[1], false, false).unwrap_err().contains("--ranks 1"));
    }

    #[test]
    fn sizes_end_where_the_memory_does() {
        let [plain, blocks, pairs] = &GROUPS;
        let sizes = sizes(&[], false).unwrap();
        let largest = |group: &Group, ranks, memory| *group.fitting(ranks, &sizes, memory).0.last().unwrap();
        // 192 ranks in 768 GiB: of 192 an alltoall of 1 MiB takes 72 GiB, one of 4 MiB would take 288.
        let memory = 768 << 30;
        assert_eq!([plain, blocks, pairs].map(|group| largest(group, 192, memory)), [4 << 20, 4 << 20, 1 << 20]);
        assert_eq!(largest(pairs, 2, 8 << 30), 4 << 20);
        let (there, left) = pairs.fitting(192, &sizes, 16 << 30);
        assert_eq!((there.last(), left), (Some(&(16 << 10)), vec![64 << 10, 256 << 10, 1 << 20, 4 << 20]));
        assert_eq!(pairs.buffers(2, 8), 2 * 4 * 8);
        assert_eq!(blocks.buffers(3, 8), 3 * 4 * 8);
    }

    #[test]
    fn sizes_are_those_that_the_program_takes() {
        assert_eq!(sizes(&[64, 8, 64], false).unwrap(), [8, 64]);
        assert_eq!(sizes(&[], true).unwrap(), QUICK_SIZES);
        for wrong in [0, 12, LARGEST + 8] {
            assert!(sizes(&[8, wrong], false).unwrap_err().contains(&format!("--sizes {wrong}")));
        }
        assert!(sizes(&(1..66).map(|size| 8 * size).collect::<Vec<_>>(), false).is_err());
    }

    #[test]
    fn every_collective_is_in_one_group() {
        let all: Vec<&str> = GROUPS.iter().flat_map(|group| group.benchmarks).copied().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        let source = include_str!("../../../../../bench/main.c");
        for name in all {
            assert!(source.contains(&format!("{{\"{name}\", run_{name}}}")), "{name}");
        }
    }
}
