//! One function for each collective: builds buffers from the seed, runs it on the simulated
//! network and compares all memory with what the standard says.

use super::Random;
use super::memory::{Even, Memory, any_shape, even, mixed, uneven};
use super::network::{Losses, Outcome, bridge, group, run_with_losses};
use super::reductions::{allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};
use std::cell::RefCell;
use std::rc::Rc;
use tern_coll::*;

/// One run.
pub struct Case {
    pub selection: Selection,
    /// Processes in the group, and in the other one: 0 for an intracommunicator.
    pub size: usize,
    pub remote: usize,
    pub units: usize,
    pub seed: u64,
    /// What goes wrong meanwhile, and what became of the members then.
    pub losses: Losses,
    pub outcomes: RefCell<Vec<Outcome>>,
    /// Rounds. Of several, memory is not compared: results may lie where the next round takes its data.
    pub rounds: usize,
    /// What went wrong before the last round.
    pub earlier: RefCell<Vec<Failure>>,
}

impl Case {
    pub fn new(selection: Selection, size: usize, remote: usize, units: usize, seed: u64) -> Case {
        let (losses, outcomes, earlier) = Default::default();
        Case { selection, size, remote, units, seed, losses, outcomes, rounds: 1, earlier }
    }

    pub fn random(&self) -> Random {
        Random::new(self.seed)
    }

    pub fn members(&self) -> Vec<Rc<Peers>> {
        match self.remote {
            0 => group(self.size, self.selection),
            remote => bridge(self.size, remote, self.selection),
        }
    }

    pub fn run(&self, members: &[Rc<Peers>], schedules: Vec<Schedule>) {
        let ended = run_with_losses(members, schedules, self.seed ^ 0x5555, self.losses.clone(), self.rounds);
        assert!(!self.losses.cuts.is_empty() || ended.outcomes.iter().all(|outcome| *outcome == Some(Ok(()))));
        *self.outcomes.borrow_mut() = ended.outcomes;
        *self.earlier.borrow_mut() = ended.earlier;
    }

    /// Members are numbered through: those of the group, then those of the other.
    pub fn all(&self) -> usize {
        self.size + self.remote
    }

    /// The members that member `i` gets data from: its own group, or the other one.
    pub fn sources(&self, i: usize) -> std::ops::Range<usize> {
        match (self.remote, i < self.size) {
            (0, _) => 0..self.size,
            (_, true) => self.size..self.all(),
            (_, false) => 0..self.size,
        }
    }

    pub fn rank(&self, i: usize) -> usize {
        if i < self.size { i } else { i - self.size }
    }

    /// A root for every member; the root is in the group.
    pub fn roots(&self, root: usize) -> Vec<Root> {
        let role = |i| match (self.remote, i) {
            (0, _) => Root::Rank(root as u32),
            (_, i) if i == root => Root::Root,
            (_, i) if i < self.size => Root::None,
            _ => Root::Rank(root as u32),
        };
        (0..self.all()).map(role).collect()
    }

    /// The members that take part in a rooted collective as other than the root.
    pub fn leaves(&self) -> std::ops::Range<usize> {
        if self.remote == 0 { 0..self.size } else { self.size..self.all() }
    }
}

fn any_even(random: &mut Random, units: usize, blocks: usize) -> Even {
    let shape = any_shape(random);
    even(random, &shape, units, blocks)
}

fn evens(random: &mut Random, n: usize, units: usize, blocks: impl Fn(usize) -> usize) -> Vec<Even> {
    (0..n).map(|i| any_even(random, units, blocks(i))).collect()
}

/// How many units each of `n` ranks has.
pub fn any_units(random: &mut Random, n: usize, most: usize) -> Vec<usize> {
    (0..n).map(|_| if random.one_in(4) { 0 } else { random.below(most + 1) }).collect()
}

/// Compares the memory of members from `first` on. Who has got an error knows nothing of it.
pub fn check(c: &Case, what: &str, first: usize, memory: &[&Memory], expected: &[Memory]) {
    assert_eq!(memory.len(), expected.len());
    for (i, (have, want)) in (first..).zip(memory.iter().zip(expected)) {
        if c.rounds == 1 && c.outcomes.borrow()[i] == Some(Ok(())) {
            have.assert_same(want, &format!("{what}, member {i}"));
        }
    }
}

pub fn bcast(c: &Case) {
    let mut r = c.random();
    let root = r.below(c.size);
    let members = c.members();
    let buffers = evens(&mut r, c.all(), c.units, |_| 1);
    let roots = c.roots(root);
    let data = buffers[root].memory.read(0);
    let mut expected: Vec<Memory> = buffers.iter().map(|b| b.memory.clone()).collect();
    for i in c.leaves() {
        expected[i].write(0, &data);
    }
    let schedules = (0..c.all()).map(|i| tern_coll::bcast(&members[i], &buffers[i].buffer, roots[i])).collect();
    c.run(&members, schedules);
    check(c, "bcast", 0, &buffers.iter().map(|b| &b.memory).collect::<Vec<_>>(), &expected);
}

pub fn barrier(c: &Case) {
    let members = c.members();
    c.run(&members, members.iter().map(|p| tern_coll::barrier(p)).collect());
}

pub fn gather(c: &Case) {
    let mut r = c.random();
    let root = r.below(c.size);
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let sends = evens(&mut r, c.all(), c.units, |_| 1);
    let recv = any_even(&mut r, c.units, c.leaves().len());
    let mut expected = recv.memory.clone();
    for (block, i) in c.leaves().enumerate() {
        if !(in_place && i == root) {
            expected.write(block, &sends[i].memory.read(0));
        }
    }
    let roots = c.roots(root);
    let schedule = |i: usize| {
        let send =
            (!(in_place && i == root) && roots[i] != Root::Root && roots[i] != Root::None).then_some(&sends[i].buffer);
        let recv = (i == root).then_some(&recv.buffer);
        tern_coll::gather(&members[i], send, recv, roots[i])
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "gather", root, &[&recv.memory], &[expected]);
}

pub fn gatherv(c: &Case) {
    let mut r = c.random();
    let root = r.below(c.size);
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let units = any_units(&mut r, c.leaves().len(), c.units);
    let first = c.leaves().start;
    let sends: Vec<Even> = (0..c.leaves().len()).map(|k| any_even(&mut r, units[k], 1)).collect();
    let recv = uneven(&mut r, &units);
    let mut expected = recv.memory.clone();
    for (k, send) in sends.iter().enumerate() {
        if !(in_place && first + k == root) {
            expected.write(k, &send.memory.read(0));
        }
    }
    let roots = c.roots(root);
    let schedule = |i: usize| {
        let send = (c.leaves().contains(&i) && !(in_place && i == root)).then(|| &sends[i - first].buffer);
        let recv = (i == root).then_some(&recv.buffer);
        tern_coll::gatherv(&members[i], send, recv, roots[i])
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "gatherv", root, &[&recv.memory], &[expected]);
}

pub fn scatter(c: &Case) {
    let mut r = c.random();
    let root = r.below(c.size);
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let first = c.leaves().start;
    let send = any_even(&mut r, c.units, c.leaves().len());
    let recvs = evens(&mut r, c.leaves().len(), c.units, |_| 1);
    let mut expected: Vec<Memory> = recvs.iter().map(|b| b.memory.clone()).collect();
    for (k, memory) in expected.iter_mut().enumerate() {
        if !(in_place && first + k == root) {
            memory.write(0, &send.memory.read(k));
        }
    }
    let roots = c.roots(root);
    let before = send.memory.clone();
    let schedule = |i: usize| {
        let recv = (c.leaves().contains(&i) && !(in_place && i == root)).then(|| &recvs[i - first].buffer);
        let send = (i == root).then_some(&send.buffer);
        tern_coll::scatter(&members[i], send, recv, roots[i])
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "scatter", first, &recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &expected);
    check(c, "scatter: input", root, &[&send.memory], &[before]);
}

pub fn scatterv(c: &Case) {
    let mut r = c.random();
    let root = r.below(c.size);
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let first = c.leaves().start;
    let units = any_units(&mut r, c.leaves().len(), c.units);
    let send = uneven(&mut r, &units);
    let recvs: Vec<Even> = units.iter().map(|&u| any_even(&mut r, u, 1)).collect();
    let mut expected: Vec<Memory> = recvs.iter().map(|b| b.memory.clone()).collect();
    for (k, memory) in expected.iter_mut().enumerate() {
        if !(in_place && first + k == root) {
            memory.write(0, &send.memory.read(k));
        }
    }
    let roots = c.roots(root);
    let schedule = |i: usize| {
        let recv = (c.leaves().contains(&i) && !(in_place && i == root)).then(|| &recvs[i - first].buffer);
        let send = (i == root).then_some(&send.buffer);
        tern_coll::scatterv(&members[i], send, recv, roots[i])
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "scatterv", first, &recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &expected);
}

/// What all receive when each has what all send. In place, the own block of each is put where it belongs.
fn gathered<'a>(c: &Case, in_place: bool, sends: &[Even], recvs: impl Iterator<Item = &'a mut Memory>) -> Vec<Memory> {
    let mut expected = Vec::new();
    for (i, recv) in recvs.enumerate() {
        if in_place {
            recv.write(i, &sends[i].memory.read(0));
        }
        let mut memory = recv.clone();
        for (block, source) in c.sources(i).enumerate() {
            memory.write(block, &sends[source].memory.read(0));
        }
        expected.push(memory);
    }
    expected
}

pub fn allgather(c: &Case) {
    let mut r = c.random();
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    // Groups may send different amounts to each other.
    let other = if c.remote == 0 { c.units } else { r.below(c.units + 1) };
    let units = |i: usize| if i < c.size { c.units } else { other };
    let sends: Vec<Even> = (0..c.all()).map(|i| any_even(&mut r, units(i), 1)).collect();
    let mut recvs: Vec<Even> =
        (0..c.all()).map(|i| any_even(&mut r, units(c.sources(i).start), c.sources(i).len())).collect();
    let expected = gathered(c, in_place, &sends, recvs.iter_mut().map(|b| &mut b.memory));
    let schedule = |i: usize| {
        let send = (!in_place).then_some(&sends[i].buffer);
        tern_coll::allgather(&members[i], send, &recvs[i].buffer)
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "allgather", 0, &recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &expected);
}

pub fn allgatherv(c: &Case) {
    let mut r = c.random();
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let units = any_units(&mut r, c.all(), c.units);
    let sends: Vec<Even> = units.iter().map(|&u| any_even(&mut r, u, 1)).collect();
    let mut recvs: Vec<_> = (0..c.all()).map(|i| uneven(&mut r, &units[c.sources(i)])).collect();
    let expected = gathered(c, in_place, &sends, recvs.iter_mut().map(|b| &mut b.memory));
    let schedule = |i: usize| {
        let send = (!in_place).then_some(&sends[i].buffer);
        tern_coll::allgatherv(&members[i], send, &recvs[i].buffer)
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "allgatherv", 0, &recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &expected);
}

pub fn alltoall(c: &Case) {
    let mut r = c.random();
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let blocks = |i: usize| c.sources(i).len();
    let sends = evens(&mut r, c.all(), c.units, blocks);
    let recvs = evens(&mut r, c.all(), c.units, blocks);
    let expected = exchanged(c, &if in_place { refs(&recvs) } else { refs(&sends) }, &refs(&recvs));
    let schedule = |i: usize| {
        let send = (!in_place).then_some(&sends[i].buffer);
        tern_coll::alltoall(&members[i], send, &recvs[i].buffer)
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "alltoall", 0, &refs(&recvs), &expected);
}

pub fn refs(buffers: &[Even]) -> Vec<&Memory> {
    buffers.iter().map(|b| &b.memory).collect()
}

/// The memory of all receivers after an exchange of blocks.
fn exchanged(c: &Case, sends: &[&Memory], recvs: &[&Memory]) -> Vec<Memory> {
    let mut expected = Vec::new();
    for (i, recv) in recvs.iter().enumerate() {
        let mut memory = (*recv).clone();
        for (block, source) in c.sources(i).enumerate() {
            memory.write(block, &sends[source].read(c.rank(i)));
        }
        expected.push(memory);
    }
    expected
}

/// Units from each member (first index) to each rank it sends to; the same both ways in place.
fn any_matrix(c: &Case, r: &mut Random, symmetric: bool) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = (0..c.all()).map(|i| any_units(r, c.sources(i).len(), c.units)).collect();
    if symmetric {
        for i in 0..c.size {
            let (above, below) = units.split_at_mut(i);
            for (j, row) in above.iter().enumerate() {
                below[0][j] = row[i];
            }
        }
    }
    units
}

/// What member `i` gets from each source.
fn column(c: &Case, units: &[Vec<usize>], i: usize) -> Vec<usize> {
    c.sources(i).map(|source| units[source][c.rank(i)]).collect()
}

pub fn alltoallv(c: &Case) {
    let mut r = c.random();
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let units = any_matrix(c, &mut r, in_place);
    let sends: Vec<_> = units.iter().map(|u| uneven(&mut r, u)).collect();
    let recvs: Vec<_> = (0..c.all()).map(|i| uneven(&mut r, &column(c, &units, i))).collect();
    let from = if in_place { &recvs } else { &sends };
    let memories = |list: &[super::memory::Uneven]| -> Vec<Memory> { list.iter().map(|b| b.memory.clone()).collect() };
    let (before, after) = (memories(from), memories(&recvs));
    let expected = exchanged(c, &before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>());
    let schedule = |i: usize| {
        let send = (!in_place).then_some(&sends[i].buffer);
        tern_coll::alltoallv(&members[i], send, &recvs[i].buffer)
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "alltoallv", 0, &recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &expected);
}

pub fn alltoallw(c: &Case) {
    let mut r = c.random();
    let in_place = c.remote == 0 && r.one_in(2);
    let members = c.members();
    let units = any_matrix(c, &mut r, in_place);
    let sends: Vec<_> = units.iter().map(|u| mixed(&mut r, u)).collect();
    let recvs: Vec<_> = (0..c.all()).map(|i| mixed(&mut r, &column(c, &units, i))).collect();
    let from = if in_place { &recvs } else { &sends };
    let before: Vec<Memory> = from.iter().map(|b| b.memory.clone()).collect();
    let after: Vec<Memory> = recvs.iter().map(|b| b.memory.clone()).collect();
    let expected = exchanged(c, &before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>());
    let schedule = |i: usize| {
        let send = (!in_place).then_some(&sends[i].buffer);
        tern_coll::alltoallw(&members[i], send, &recvs[i].buffer)
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    check(c, "alltoallw", 0, &recvs.iter().map(|b| &b.memory).collect::<Vec<_>>(), &expected);
}

/// Every collective of chapter 6, with the one whose choice it follows, and whether it exists on
/// intercommunicators.
pub type Run = fn(&Case);
pub const ALL: &[(&str, Run, Collective, bool)] = &[
    ("barrier", barrier, Collective::Barrier, true),
    ("bcast", bcast, Collective::Bcast, true),
    ("gather", gather, Collective::Gather, true),
    ("gatherv", gatherv, Collective::Gather, true),
    ("scatter", scatter, Collective::Scatter, true),
    ("scatterv", scatterv, Collective::Scatter, true),
    ("allgather", allgather, Collective::Allgather, true),
    ("allgatherv", allgatherv, Collective::Allgather, true),
    ("alltoall", alltoall, Collective::Alltoall, true),
    ("alltoallv", alltoallv, Collective::Alltoallv, true),
    ("alltoallw", alltoallw, Collective::Alltoallv, true),
    ("reduce", reduce, Collective::Reduce, true),
    ("allreduce", allreduce, Collective::Allreduce, true),
    ("reduce_scatter", reduce_scatter, Collective::ReduceScatter, true),
    ("reduce_scatter_block", reduce_scatter_block, Collective::ReduceScatter, true),
    ("scan", scan, Collective::Scan, false),
    ("exscan", exscan, Collective::Scan, false),
];
