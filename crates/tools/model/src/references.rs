//! Algorithms of others, written from their papers, on the same lines and machines as Tern's: each with its pieces, radices and levels searched.
//!
//! | name | source |
//! |---|---|
//! | `flat` | each reads from all, or all from the root |
//! | `binomial`, `recursive doubling`, `dissemination`, `bruck` | Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005) |
//! | `release-gather` | MPICH's `release_gather`: one width for all levels, up and down by themselves |
//! | `xhc` | Open MPI's `coll/xhc`: flat groups in levels, pieces of 16 KiB; two copies up to 256 bytes (a reduction: 4 KiB), above one copy and reductions shared by the members of a group |
//! | `optimal tree` | Ramos, Hoefler: Modeling communication in cache-coherent SMP systems (HPDC 2013): the tree that the model itself finds best |
//! | `radix by level` | `ext_mpi_collectives` (doi 10.1177/10943420251363423): exchanges with a radix for each level, of whole vectors or by a reduce-scatter and an allgather |
//!
//! All have what Tern's lines have: cells in turn, and payloads inline up to 48 bytes. They may also fetch the next cell early.

mod exchange;
mod program;
mod tree;

use crate::machine::Machine;
use crate::replay::Cost;
use exchange as ex;
use program::Program;
use std::str::FromStr;
use tree::{Border, Copies, Fan, Form, Tree};

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Allgather,
    Gather,
    Scatter,
    Alltoall,
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(name: &str) -> Result<Operation, String> {
        Ok(match name {
            "barrier" => Operation::Barrier,
            "bcast" => Operation::Bcast,
            "reduce" => Operation::Reduce,
            "allreduce" => Operation::Allreduce,
            "allgather" => Operation::Allgather,
            "gather" => Operation::Gather,
            "scatter" => Operation::Scatter,
            "alltoall" => Operation::Alltoall,
            other => return Err(format!("no operation is called {other}")),
        })
    }
}

/// An algorithm with its best parameters, and what a call costs.
#[derive(Clone, Debug)]
pub struct Reference {
    pub name: &'static str,
    pub parameters: String,
    pub cost: Cost,
}

/// The best of all algorithms for `bytes` of each member (of the vector, or of a block) on the first `ranks` cores; the root is the first member.
/// `fetches`: see [`each`].
pub fn best(machine: &Machine, operation: Operation, bytes: usize, ranks: usize, fetches: bool) -> Reference {
    let all = each(machine, operation, bytes, ranks, fetches);
    all.into_iter()
        .min_by(|one, other| one.cost.nanoseconds.total_cmp(&other.cost.nanoseconds))
        .expect("some algorithm serves")
}

/// Each algorithm that serves the operation, with its best parameters. `fetches`: members ask for their next cells early, as Tern's flat forms do before a payload and its tree does not.
pub fn each(machine: &Machine, operation: Operation, bytes: usize, ranks: usize, fetches: bool) -> Vec<Reference> {
    let mut search = Search { machine, operation, bytes, ranks, fetches, found: Vec::new() };
    search.exchanges();
    search.trees();
    search.found
}

/// Bytes up to which XHC copies twice: of a broadcast, and of a reduction (`cico_max` of its component).
const XHC_TWICE: [usize; 2] = [256, 4096];
/// Lengths of pieces, XHC's own among them.
const PIECES: [usize; 4] = [usize::MAX, 4 << 10, 8 << 10, 16 << 10];
/// Widths and radices.
const WIDTHS: [usize; 5] = [2, 3, 4, 8, 16];
/// Longest data for which all fans are tried: those that differ in the number of steps cost much more, for longer data.
const MANY_FANS: usize = 4 << 10;

struct Search<'a> {
    machine: &'a Machine,
    operation: Operation,
    bytes: usize,
    ranks: usize,
    fetches: bool,
    found: Vec<Reference>,
}

impl Search<'_> {
    fn try_out(&mut self, name: &'static str, parameters: String, program: &Program) -> f64 {
        let cost = program.cost(self.machine, self.fetches);
        let nanoseconds = cost.nanoseconds;
        let new = Reference { name, parameters, cost };
        match self.found.iter_mut().find(|known| known.name == name) {
            Some(known) if known.cost.nanoseconds <= nanoseconds => {}
            Some(known) => *known = new,
            None => self.found.push(new),
        }
        nanoseconds
    }

    /// Algorithms without a root.
    fn exchanges(&mut self) {
        let (ranks, bytes) = (self.ranks, self.bytes);
        match self.operation {
            Operation::Barrier | Operation::Allreduce | Operation::Allgather => {
                self.try_out("flat", String::new(), &ex::all_to_all_same(ranks, bytes));
            }
            Operation::Scatter => _ = self.try_out("flat", String::new(), &ex::scatter_at_once(ranks, bytes)),
            Operation::Alltoall => _ = self.try_out("flat", String::new(), &ex::alltoall_at_once(ranks, bytes)),
            _ => {}
        }
        for radix in WIDTHS {
            let parameters = || format!("radix {radix}");
            match self.operation {
                Operation::Barrier => {
                    _ = self.try_out("dissemination", parameters(), &ex::dissemination(ranks, radix, |_| 0))
                }
                Operation::Allgather => {
                    let blocks = |round: usize| radix.pow(round as u32).min(ranks) * bytes;
                    self.try_out("bruck", parameters(), &ex::dissemination(ranks, radix, blocks));
                }
                Operation::Alltoall => {
                    _ = self.try_out("bruck", parameters(), &ex::bruck_alltoall(ranks, radix, bytes))
                }
                _ => {}
            }
        }
        let doubling = vec![2; ranks.trailing_zeros() as usize];
        let by_level = ex::radices(self.machine, ranks).into_iter().map(|radices| ("radix by level", radices));
        let all = ranks.is_power_of_two().then_some(("recursive doubling", doubling)).into_iter().chain(by_level);
        for (name, radices) in all {
            match self.operation {
                Operation::Barrier => _ = self.try_out(name, format!("{radices:?}"), &ex::multiply(ranks, &radices, 0)),
                Operation::Allreduce => {
                    self.try_out(name, format!("{radices:?}, whole vectors"), &ex::multiply(ranks, &radices, bytes));
                    if name == "radix by level" {
                        self.try_out(name, format!("{radices:?}, shares"), &ex::scatter_gather(ranks, &radices, bytes));
                    }
                }
                Operation::Allgather => {
                    _ = self.try_out(name, format!("{radices:?}"), &ex::multiply_blocks(ranks, &radices, bytes))
                }
                _ => {}
            }
        }
    }

    /// Whether the operation goes up, and whether it goes down.
    fn ways(&self) -> (bool, bool) {
        match self.operation {
            Operation::Barrier | Operation::Allreduce | Operation::Allgather => (true, true),
            Operation::Reduce | Operation::Gather => (true, false),
            Operation::Bcast | Operation::Scatter => (false, true),
            Operation::Alltoall => (false, false),
        }
    }

    fn trees(&mut self) {
        let (goes_up, goes_down) = self.ways();
        if !goes_up && !goes_down {
            return;
        }
        let simple = |fan: Fan| Form { borders: Vec::new(), fans: vec![fan] };
        self.pair("binomial", &simple(Fan::Nomial(2)), &simple(Fan::Nomial(2)));
        if matches!(self.operation, Operation::Bcast | Operation::Reduce | Operation::Gather) {
            self.pair("flat", &simple(Fan::Flat), &simple(Fan::Flat));
        }
        self.release_gather();
        let sets = tree::borders(self.machine, self.ranks);
        for borders in &sets {
            let form = Form { borders: borders.clone(), fans: vec![Fan::Flat; borders.len() + 1] };
            self.pair("xhc", &form, &form);
            self.xhc_by_one_copy(&form);
        }
        self.optimal(&sets);
    }

    fn release_gather(&mut self) {
        let sets = [Vec::new(), vec![Border::Package]];
        let across = self.machine.places(self.ranks - 1).package > 0;
        for borders in sets.into_iter().take(if across { 2 } else { 1 }) {
            let form = |fan: Fan| Form { fans: vec![fan; borders.len() + 1], borders: borders.clone() };
            let fans = WIDTHS.into_iter().flat_map(|width| [Fan::Ary(width), Fan::Nomial(width)]);
            let (goes_up, goes_down) = self.ways();
            // The best way up by itself, then the best way down with it.
            let mut best = (f64::INFINITY, Fan::Ary(2));
            for fan in fans.clone().filter(|_| goes_up) {
                let cost = self.pair("release-gather", &form(fan), &form(Fan::Nomial(2)));
                best = if cost < best.0 { (cost, fan) } else { best };
            }
            for fan in fans.filter(|_| goes_down) {
                self.pair("release-gather", &form(best.1), &form(fan));
            }
        }
    }

    /// The best tree up and the best tree down: level by level, the best fan of each.
    fn optimal(&mut self, sets: &[Vec<Border>]) {
        let (goes_up, goes_down) = self.ways();
        let start = |borders: &Vec<Border>| Form { borders: borders.clone(), fans: vec![Fan::Flat; borders.len() + 1] };
        let start_down = start(sets.last().expect("a set"));
        let mut up = (f64::INFINITY, start_down.clone());
        for borders in sets.iter().filter(|_| goes_up) {
            let found = self.improve(start(borders), |search, form| search.pair("optimal tree", form, &start_down));
            up = if found.0 < up.0 { found } else { up };
        }
        let up = up.1;
        for borders in sets.iter().filter(|_| goes_down) {
            self.improve(start(borders), |search, form| search.pair("optimal tree", &up, form));
        }
    }

    fn improve(&mut self, mut form: Form, mut cost: impl FnMut(&mut Self, &Form) -> f64) -> (f64, Form) {
        let mut best = cost(self, &form);
        for level in (0..form.fans.len()).rev() {
            let fans = if self.bytes > MANY_FANS { &Fan::ALL[..3] } else { &Fan::ALL[..] };
            for &fan in fans {
                let mut other = form.clone();
                other.fans[level] = fan;
                let new = cost(self, &other);
                if new < best {
                    (best, form) = (new, other);
                }
            }
        }
        (best, form)
    }

    /// The operation along one tree up and one down, in two copies, in pieces of the best length. Gives the least cost.
    fn pair(&mut self, name: &'static str, up: &Form, down: &Form) -> f64 {
        let (goes_up, goes_down) = self.ways();
        let parameters = match (goes_up, goes_down) {
            (true, false) => format!("{up}"),
            (false, true) => format!("{down}"),
            _ => format!("up {up}; down {down}"),
        };
        let trees = [up, down].map(|form| Tree::new(self.machine, self.ranks, form));
        let (ranks, bytes) = (self.ranks, self.bytes);
        let whole = |program: &mut Program| match self.operation {
            Operation::Gather => tree::gather(program, &trees[0], bytes),
            Operation::Scatter => tree::scatter(program, &trees[1], bytes),
            Operation::Allgather => {
                tree::gather(program, &trees[0], bytes);
                tree::down(program, &trees[1], Copies::Two, bytes * ranks);
            }
            _ => {}
        };
        if matches!(self.operation, Operation::Gather | Operation::Scatter | Operation::Allgather) {
            let mut program = Program::new(ranks);
            whole(&mut program);
            return self.try_out(name, parameters, &program);
        }
        let mut least = f64::INFINITY;
        for piece in PIECES.into_iter().filter(|&piece| piece == usize::MAX || piece < bytes) {
            let mut program = Program::new(ranks);
            self.in_pieces(
                &mut program,
                &trees,
                piece,
                |program, tree, bytes| tree::up(program, tree, Copies::Two, |_| bytes),
                Copies::Two,
            );
            let cost = self.try_out(name, piece_of(&parameters, piece), &program);
            least = least.min(cost);
        }
        least
    }

    /// One piece goes up while that before it goes down.
    fn in_pieces(
        &self, program: &mut Program, [up, down]: &[Tree; 2], piece: usize, go_up: impl Fn(&mut Program, &Tree, usize),
        copies: Copies,
    ) {
        let (goes_up, goes_down) = self.ways();
        let pieces: Vec<usize> =
            (0..self.bytes.max(1)).step_by(piece).map(|from| piece.min(self.bytes - from)).collect();
        for (at, &bytes) in pieces.iter().enumerate() {
            if goes_up {
                go_up(program, up, bytes);
            }
            let ready = if goes_up { at.checked_sub(1) } else { Some(at) };
            if let Some(ready) = ready.filter(|_| goes_down) {
                tree::down(program, down, copies, pieces[ready]);
            }
        }
        if goes_up && goes_down {
            tree::down(program, down, copies, pieces[pieces.len() - 1]);
        }
    }

    /// XHC above the length up to which it copies twice.
    fn xhc_by_one_copy(&mut self, form: &Form) {
        let twice = match self.operation {
            Operation::Bcast => XHC_TWICE[0],
            Operation::Reduce | Operation::Allreduce => XHC_TWICE[1],
            _ => return,
        };
        if self.bytes <= twice {
            return;
        }
        let tree = Tree::new(self.machine, self.ranks, form);
        let trees = [tree.clone(), tree];
        let bytes = self.bytes;
        for piece in PIECES.into_iter().filter(|&piece| piece == usize::MAX || piece < bytes) {
            for shared in [false, true] {
                let mut program = Program::new(self.ranks);
                let go_up = |program: &mut Program, tree: &Tree, bytes: usize| match shared {
                    true => tree::shared_up(program, tree, bytes),
                    false => tree::up(program, tree, Copies::One, |_| bytes),
                };
                self.in_pieces(&mut program, &trees, piece, go_up, Copies::One);
                let how = if shared { "shared" } else { "by leaders" };
                self.try_out("xhc", piece_of(&format!("{form}, one copy, {how}"), piece), &program);
            }
        }
    }
}

fn piece_of(parameters: &str, piece: usize) -> String {
    match piece {
        usize::MAX => parameters.into(),
        _ => format!("{parameters}; pieces of {} KiB", piece >> 10),
    }
}

#[cfg(test)]
mod tests;
