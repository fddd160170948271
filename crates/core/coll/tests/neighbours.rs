//! Neighbourhood collectives on random graphs with repeated edges, and on Cartesian grids.

mod common;

use common::Random;
use common::memory::{Memory, any_shape, even, mixed, uneven};
use common::network::{group, run};
use std::rc::Rc;
use tern_coll::{
    Neighbours, Peers, Selection, neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
    neighbor_alltoallw,
};

/// The neighbours of every rank, and for each source block the rank and the block it comes from.
struct Graph {
    sources: Vec<Vec<i32>>,
    destinations: Vec<Vec<i32>>,
    origins: Vec<Vec<Option<(usize, usize)>>>,
    cartesian: bool,
}

impl Graph {
    fn size(&self) -> usize {
        self.sources.len()
    }

    fn of(&self, rank: usize) -> Neighbours<'_> {
        Neighbours { sources: &self.sources[rank], destinations: &self.destinations[rank], cartesian: self.cartesian }
    }
}

/// Edges between random ranks, repeated and to oneself, with MPI_PROC_NULL in between.
fn random_graph(r: &mut Random, size: usize) -> Graph {
    let mut sources = vec![vec![]; size];
    let mut destinations = vec![vec![]; size];
    let mut origins = vec![vec![]; size];
    for _ in 0..r.below(4 * size + 1) {
        let (from, to) = (r.below(size), r.below(size));
        origins[to].push(Some((from, destinations[from].len())));
        sources[to].push(from as i32);
        destinations[from].push(to as i32);
        if r.one_in(5) {
            destinations[r.below(size)].push(-3);
            let lonely = r.below(size);
            sources[lonely].push(-3);
            origins[lonely].push(None);
        }
    }
    // Lists may be in any order, as long as edges between the same two keep theirs.
    for rank in 0..size {
        for i in 1..sources[rank].len() {
            if r.one_in(2) && sources[rank][i] != sources[rank][i - 1] {
                sources[rank].swap(i, i - 1);
                origins[rank].swap(i, i - 1);
            }
        }
    }
    Graph { sources, destinations, origins, cartesian: false }
}

/// A grid, by the standard's words: the block that goes in one direction arrives from the other.
fn grid(dims: &[usize], periodic: &[bool]) -> Graph {
    let size: usize = dims.iter().product();
    let mut lists = vec![vec![]; size];
    let mut origins = vec![vec![]; size];
    for rank in 0..size {
        let mut stride = size;
        for (d, &n) in dims.iter().enumerate() {
            stride /= n;
            let at = rank / stride % n;
            let mut shift = |inside: bool, there: usize, block: usize| {
                let other = rank - at * stride + there * stride;
                let there = inside || periodic[d];
                lists[rank].push(if there { other as i32 } else { -3 });
                origins[rank].push(there.then_some((other, block)));
            };
            shift(at > 0, (at + n - 1) % n, 2 * d + 1);
            shift(at + 1 < n, (at + 1) % n, 2 * d);
        }
    }
    Graph { sources: lists.clone(), destinations: lists, origins, cartesian: true }
}

fn graphs(r: &mut Random) -> Vec<Graph> {
    let mut all: Vec<Graph> = (1..=7).map(|size| random_graph(r, size)).collect();
    for (dims, periodic) in [
        (vec![1], vec![true]),
        (vec![1], vec![false]),
        (vec![2], vec![true]),
        (vec![3], vec![true]),
        (vec![2, 1], vec![true, true]),
        (vec![2, 3], vec![true, false]),
        (vec![2, 2, 2], vec![true, true, false]),
        (vec![1, 1, 2], vec![true, true, true]),
    ] {
        all.push(grid(&dims, &periodic));
    }
    all
}

/// Runs `case` for many graphs.
fn each(case: impl Fn(&Graph, &[Rc<Peers>], &mut Random, u64)) {
    for seed in 0..60 {
        let mut r = Random::new(seed);
        for graph in graphs(&mut r) {
            let members = group(graph.size(), Selection::default());
            case(&graph, &members, &mut r, seed);
        }
    }
}

/// `recv` of `rank` with the blocks that its sources send.
fn expect(graph: &Graph, rank: usize, recv: &Memory, block: impl Fn(usize, usize) -> Vec<u8>) -> Memory {
    let mut expected = recv.clone();
    for (i, origin) in graph.origins[rank].iter().enumerate() {
        if let Some((from, index)) = origin {
            expected.write(i, &block(*from, *index));
        }
    }
    expected
}

fn compare(have: &[&Memory], want: &[Memory]) {
    for (rank, (have, want)) in have.iter().zip(want).enumerate() {
        have.assert_same(want, &format!("rank {rank}"));
    }
}

#[test]
fn allgather() {
    each(|g, members, r, seed| {
        let units = r.below(6);
        let mut buffers = |blocks: &dyn Fn(usize) -> usize| {
            let one = |rank| {
                let shape = any_shape(r);
                even(r, &shape, units, blocks(rank))
            };
            (0..g.size()).map(one).collect::<Vec<_>>()
        };
        let sends = buffers(&|_| 1);
        let recvs = buffers(&|rank| g.sources[rank].len());
        let want: Vec<Memory> = (0..g.size())
            .map(|rank| expect(g, rank, &recvs[rank].memory, |from, _| sends[from].memory.read(0)))
            .collect();
        let schedules = (0..g.size())
            .map(|i| neighbor_allgather(&members[i], g.of(i), &sends[i].buffer, &recvs[i].buffer))
            .collect();
        run(members, schedules, seed);
        compare(&recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &want);
    });
}

#[test]
fn allgatherv() {
    each(|g, members, r, seed| {
        let units: Vec<usize> = (0..g.size()).map(|_| r.below(6)).collect();
        let sends: Vec<_> = units
            .iter()
            .map(|&n| {
                let shape = any_shape(r);
                even(r, &shape, n, 1)
            })
            .collect();
        let from = |rank: i32| usize::try_from(rank).map_or(2, |rank| units[rank]);
        let recvs: Vec<_> =
            (0..g.size()).map(|i| uneven(r, &g.sources[i].iter().map(|&s| from(s)).collect::<Vec<_>>())).collect();
        let want: Vec<Memory> = (0..g.size())
            .map(|rank| expect(g, rank, &recvs[rank].memory, |from, _| sends[from].memory.read(0)))
            .collect();
        let schedules = (0..g.size())
            .map(|i| neighbor_allgatherv(&members[i], g.of(i), &sends[i].buffer, &recvs[i].buffer))
            .collect();
        run(members, schedules, seed);
        compare(&recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &want);
    });
}

#[test]
fn alltoall() {
    each(|g, members, r, seed| {
        let units = r.below(6);
        let mut buffers = |lists: &[Vec<i32>]| {
            let one = |list: &Vec<i32>| {
                let shape = any_shape(r);
                even(r, &shape, units, list.len())
            };
            lists.iter().map(one).collect::<Vec<_>>()
        };
        let (sends, recvs) = (buffers(&g.destinations), buffers(&g.sources));
        let want: Vec<Memory> = (0..g.size())
            .map(|rank| expect(g, rank, &recvs[rank].memory, |from, i| sends[from].memory.read(i)))
            .collect();
        let schedules = (0..g.size())
            .map(|i| neighbor_alltoall(&members[i], g.of(i), &sends[i].buffer, &recvs[i].buffer))
            .collect();
        run(members, schedules, seed);
        compare(&recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &want);
    });
}

/// Units of each block sent, and of each block received.
fn amounts(g: &Graph, r: &mut Random) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let sent: Vec<Vec<usize>> = g.destinations.iter().map(|list| list.iter().map(|_| r.below(5)).collect()).collect();
    let received =
        g.origins.iter().map(|list| list.iter().map(|o| o.map_or(3, |(from, i)| sent[from][i])).collect()).collect();
    (sent, received)
}

#[test]
fn alltoallv() {
    each(|g, members, r, seed| {
        let (sent, received) = amounts(g, r);
        let sends: Vec<_> = sent.iter().map(|units| uneven(r, units)).collect();
        let recvs: Vec<_> = received.iter().map(|units| uneven(r, units)).collect();
        let want: Vec<Memory> = (0..g.size())
            .map(|rank| expect(g, rank, &recvs[rank].memory, |from, i| sends[from].memory.read(i)))
            .collect();
        let schedules = (0..g.size())
            .map(|i| neighbor_alltoallv(&members[i], g.of(i), &sends[i].buffer, &recvs[i].buffer))
            .collect();
        run(members, schedules, seed);
        compare(&recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &want);
    });
}

#[test]
fn alltoallw() {
    each(|g, members, r, seed| {
        let (sent, received) = amounts(g, r);
        let sends: Vec<_> = sent.iter().map(|units| mixed(r, units)).collect();
        let recvs: Vec<_> = received.iter().map(|units| mixed(r, units)).collect();
        let want: Vec<Memory> = (0..g.size())
            .map(|rank| expect(g, rank, &recvs[rank].memory, |from, i| sends[from].memory.read(i)))
            .collect();
        let schedules = (0..g.size())
            .map(|i| neighbor_alltoallw(&members[i], g.of(i), &sends[i].buffer, &recvs[i].buffer))
            .collect();
        run(members, schedules, seed);
        compare(&recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &want);
    });
}
