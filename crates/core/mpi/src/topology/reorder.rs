//! Which process takes which rank of a topology, so that neighbours share caches (`reorder` of MPI 5.0
//! section 8.5).
//!
//! A pure function of where processes run and who communicates with whom. The problem is hard in
//! general; this takes the better of two ways: to improve the given order by swaps, and to divide the
//! graph among the parts of the machine first, from the outside in, then improve that.

use tern_node::topology::Neighbours;

/// Levels of the machine, from the outside in: host, package, NUMA node, last cache, second-level cache, core.
pub const LEVELS: usize = 6;

/// Where a process runs: a number for each level, [`ANYWHERE`] where it may run in several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location(pub [i32; LEVELS]);

/// Not bound at this level.
pub const ANYWHERE: i32 = -1;

/// What a message costs between two places that are the same down to each level.
const COST: [u64; LEVELS + 1] = [128, 32, 20, 16, 7, 6, 4];

/// An edge of the graph: two new ranks and how much they communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub weight: u64,
}

impl Location {
    /// Of a process on host `host` that may run on these hardware threads.
    pub fn of(host: u32, cores: &[usize]) -> Location {
        let Some(&first) = cores.first() else { return Location::anywhere(host) };
        let around = Neighbours::of(first);
        let level = |shared: &[usize]| match cores.iter().all(|core| shared.contains(core)) {
            true => shared.iter().min().map_or(ANYWHERE, |&core| core as i32),
            false => ANYWHERE,
        };
        let Neighbours { siblings, l2, cache, node, package } = &around;
        Location([host as i32, level(package), level(node), level(cache), level(l2), level(siblings)])
    }

    fn anywhere(host: u32) -> Location {
        let mut levels = [ANYWHERE; LEVELS];
        levels[0] = host as i32;
        Location(levels)
    }
}

fn cost(a: Location, b: Location) -> u64 {
    let same = a.0.iter().zip(&b.0).take_while(|(a, b)| a == b).count();
    COST[same]
}

/// What all edges cost when new rank r is given to process `order[r]`.
pub fn total(places: &[Location], edges: &[Edge], order: &[usize]) -> u64 {
    let one = |edge: &Edge| edge.weight * cost(places[order[edge.from]], places[order[edge.to]]);
    edges.iter().map(one).sum()
}

/// For each new rank the process that takes it: a permutation of all of `places`, which costs no more than
/// to leave them as they are. `edges` name new ranks below `places.len()`; those to oneself do not count.
pub fn reorder(places: &[Location], edges: &[Edge]) -> Vec<usize> {
    let size = places.len();
    let identity: Vec<usize> = (0..size).collect();
    let edges: Vec<Edge> = edges.iter().copied().filter(|edge| edge.from != edge.to && edge.weight > 0).collect();
    if edges.is_empty() || places.iter().all(|place| *place == places[0]) {
        return identity;
    }
    let around = neighbours(size, &edges);
    let improved = |mut order: Vec<usize>| {
        improve(places, &around, &mut order);
        order
    };
    let mut divided = vec![0; size];
    divide(places, &around, identity.clone(), identity.clone(), 0, &mut divided);
    let candidates = [identity.clone(), improved(identity), improved(divided)];
    // The first of the best: unless something is won, ranks stay as they are.
    candidates.into_iter().min_by_key(|order| total(places, &edges, order)).unwrap_or_default()
}

/// For each new rank those that it communicates with, in either direction.
fn neighbours(size: usize, edges: &[Edge]) -> Vec<Vec<(usize, u64)>> {
    let mut around = vec![Vec::new(); size];
    for edge in edges {
        around[edge.from].push((edge.to, edge.weight));
        around[edge.to].push((edge.from, edge.weight));
    }
    around
}

/// Gives `ranks` to `processes`, which are as many: divides the processes by their place at `level`, grows
/// a part of the graph for each of the groups, and goes on inside.
fn divide(
    places: &[Location], around: &[Vec<(usize, u64)>], mut processes: Vec<usize>, ranks: Vec<usize>, level: usize,
    order: &mut [usize],
) {
    if level == LEVELS || processes.len() <= 1 {
        for (rank, process) in ranks.into_iter().zip(processes) {
            order[rank] = process;
        }
        return;
    }
    processes.sort_by_key(|&process| (places[process].0[level], process));
    let mut left = ranks;
    for group in processes.chunk_by(|&a, &b| places[a].0[level] == places[b].0[level]) {
        let part = grow(around, &mut left, group.len());
        divide(places, around, group.to_vec(), part, level + 1, order);
    }
}

/// Takes `size` ranks out of `left` that communicate much with each other: one by one, that which has
/// most to do with the part so far and least with what stays outside.
fn grow(around: &[Vec<(usize, u64)>], left: &mut Vec<usize>, size: usize) -> Vec<usize> {
    let mut outside = vec![false; around.len()];
    left.iter().for_each(|&rank| outside[rank] = true);
    let mut inside = vec![false; around.len()];
    let mut part = Vec::with_capacity(size);
    while part.len() < size {
        let pull = |rank: usize| {
            let weight =
                |of: &[bool]| around[rank].iter().filter(|(other, _)| of[*other]).map(|(_, w)| *w).sum::<u64>();
            (weight(&inside), u64::MAX - weight(&outside))
        };
        // The first of the best, so that neighbours by number stay together.
        let best = (0..left.len()).rev().max_by_key(|&at| pull(left[at])).expect("as many ranks as processes");
        let rank = left.remove(best);
        outside[rank] = false;
        inside[rank] = true;
        part.push(rank);
    }
    part.sort_unstable();
    part
}

/// Work that improvement may take, in pairs of ranks looked at.
const LOOKS: usize = 4_000_000;

/// Swaps ranks as long as that saves something.
fn improve(places: &[Location], around: &[Vec<(usize, u64)>], order: &mut [usize]) {
    let size = order.len();
    let spent = |order: &[usize], rank: usize, other: usize| -> u64 {
        // The edge between the two costs the same after the swap.
        let others = around[rank].iter().filter(|(peer, _)| *peer != other);
        others.map(|&(peer, weight)| weight * cost(places[order[rank]], places[order[peer]])).sum()
    };
    let sweeps = (LOOKS / (size * size).max(1)).clamp(1, 20);
    for _ in 0..sweeps {
        let mut swapped = false;
        for a in 0..size {
            for b in a + 1..size {
                if places[order[a]] == places[order[b]] || (around[a].is_empty() && around[b].is_empty()) {
                    continue;
                }
                let before = spent(order, a, b) + spent(order, b, a);
                order.swap(a, b);
                if spent(order, a, b) + spent(order, b, a) < before {
                    swapped = true;
                } else {
                    order.swap(a, b);
                }
            }
        }
        if !swapped {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two packages of two caches of four cores, of which two share a second-level cache; process p runs where `core` says.
    fn machine(size: usize, core: impl Fn(usize) -> usize) -> Vec<Location> {
        let place = |process| {
            let core = core(process) as i32;
            Location([0, core / 8, core / 8, core / 4, core / 2, core])
        };
        (0..size).map(place).collect()
    }

    fn grid(rows: usize, columns: usize) -> Vec<Edge> {
        let mut edges = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let from = row * columns + column;
                let mut edge =
                    |to| edges.extend([Edge { from, to, weight: 1 }, Edge { from: to, to: from, weight: 1 }]);
                if column + 1 < columns {
                    edge(from + 1);
                }
                if row + 1 < rows {
                    edge(from + columns);
                }
            }
        }
        edges
    }

    fn identity(size: usize) -> Vec<usize> {
        (0..size).collect()
    }

    #[test]
    fn ranks_that_go_round_the_sockets_are_brought_together() {
        // Rank p on socket p % 2, as launchers that scatter do; the program is a chain.
        let places = machine(16, |process| process % 2 * 8 + process / 2);
        let chain = grid(1, 16);
        let order = reorder(&places, &chain);
        let (before, after) = (total(&places, &chain, &identity(16)), total(&places, &chain, &order));
        // In a perfect order of the 15 links 1 crosses the packages, 2 the caches, 4 the second-level caches, and 8 stay inside.
        assert_eq!(before, 15 * 2 * COST[1]);
        assert_eq!(after, 2 * (COST[1] + 2 * COST[3] + 4 * COST[4] + 8 * COST[5]));
    }

    #[test]
    fn a_plane_is_divided_into_squares() {
        // Rows of four fill a cache each. Squares of two by two have fewer links between them.
        let places = machine(16, |process| process);
        let plane = grid(4, 4);
        let order = reorder(&places, &plane);
        let (before, after) = (total(&places, &plane, &identity(16)), total(&places, &plane, &order));
        assert_eq!(before, 2 * (4 * COST[1] + 8 * COST[3] + 4 * COST[4] + 8 * COST[5]));
        assert!(after < before, "{after} is not below {before}");
    }

    #[test]
    fn weights_decide_who_comes_together() {
        // Four ranks on two sockets; 0 and 3 talk much, so do 1 and 2.
        let places = machine(4, |process| process / 2 * 8 + process % 2);
        let edge = |from, to, weight| Edge { from, to, weight };
        let edges = [edge(0, 1, 1), edge(1, 2, 100), edge(2, 3, 1), edge(3, 0, 100)];
        let order = reorder(&places, &edges);
        let socket = |rank: usize| places[order[rank]].0[1];
        assert_eq!((socket(0), socket(1)), (socket(3), socket(2)));
        assert_ne!(socket(0), socket(1));
    }

    #[test]
    fn who_is_bound_nowhere_stays() {
        let places = vec![Location::anywhere(0); 9];
        assert_eq!(reorder(&places, &grid(3, 3)), identity(9));
        assert_eq!(reorder(&machine(4, |process| process), &[]), identity(4));
    }

    #[test]
    fn a_place_is_as_exact_as_the_binding() {
        let all = tern_node::affinity();
        let one = Location::of(3, &all[..1]);
        assert_eq!(one.0[0], 3);
        let wide = Location::of(3, &[usize::MAX - 1, usize::MAX]);
        assert_eq!(wide, Location::anywhere(3));
    }

    proptest! {
        #[test]
        fn an_order_is_a_permutation_and_never_worse(
            cores in prop::collection::vec(0usize..16, 1..24),
            links in prop::collection::vec((0usize..24, 0usize..24, 0u64..9), 0..60),
        ) {
            let size = cores.len();
            let places = machine(size, |process| cores[process]);
            let edges: Vec<Edge> =
                links.iter().map(|&(a, b, weight)| Edge { from: a % size, to: b % size, weight }).collect();
            let order = reorder(&places, &edges);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, identity(size));
            prop_assert!(total(&places, &edges, &order) <= total(&places, &edges, &identity(size)));
        }
    }
}
