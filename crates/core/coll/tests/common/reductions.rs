//! As [`super::cases`], of reductions.

use super::Random;
use super::cases::{Case, any_units, check, refs};
use super::memory::{Even, Memory, any_shape, even};
use super::operators::{Combine, add, compose, fold, operator};
use tern_coll::*;

/// A reduction's inputs and outputs. All members use one layout, and one element is one unit.
struct Vectors {
    inputs: Vec<Even>,
    outputs: Vec<Even>,
    in_place: bool,
    function: Combine,
    operator: Operator,
}

impl Vectors {
    /// Outputs have `out(i)` units.
    fn new(c: &Case, r: &mut Random, units: usize, out: impl Fn(usize) -> usize) -> Vectors {
        let in_place = c.remote == 0 && r.one_in(2);
        let shape = loop {
            let shape = any_shape(r);
            if shape.per_unit == 1 {
                break shape;
            }
        };
        let (function, commutative): (Combine, bool) = if r.one_in(2) { (add, true) } else { (compose, false) };
        let inputs: Vec<Even> = (0..c.all()).map(|_| even(r, &shape, units, 1)).collect();
        let outputs = (0..c.all()).map(|i| even(r, &shape, if in_place { units } else { out(i) }, 1));
        let mut outputs: Vec<Even> = outputs.collect();
        if in_place {
            for (input, output) in inputs.iter().zip(&mut outputs) {
                output.memory.write(0, &input.memory.read(0));
            }
        }
        let operator = operator(function, commutative);
        Vectors { inputs, outputs, in_place, function, operator }
    }

    fn input(&self, i: usize) -> Option<&Buffer> {
        (!self.in_place).then_some(&self.inputs[i].buffer)
    }

    fn fold(&self, members: std::ops::Range<usize>) -> Vec<u8> {
        let vectors: Vec<_> = members.map(|i| self.inputs[i].memory.read(0)).collect();
        fold(self.function, &vectors)
    }

    /// The outputs, of which those of `results` begin with that data, and the rest is as it was.
    fn expected(&self, results: impl Fn(usize) -> Option<Vec<u8>>) -> Vec<Memory> {
        let mut all = Vec::new();
        for (i, output) in self.outputs.iter().enumerate() {
            let mut memory = output.memory.clone();
            if let Some(result) = results(i) {
                let mut whole = memory.read(0);
                whole[..result.len()].copy_from_slice(&result);
                memory.write(0, &whole);
            }
            all.push(memory);
        }
        all
    }

    fn check(&self, c: &Case, what: &str, inputs: &[Memory], expected: &[Memory]) {
        check(c, what, 0, &refs(&self.outputs), expected);
        check(c, &format!("{what}: input"), 0, &refs(&self.inputs), inputs);
    }

    fn before(&self) -> Vec<Memory> {
        self.inputs.iter().map(|b| b.memory.clone()).collect()
    }
}

pub fn reduce(c: &Case) {
    let mut r = c.random();
    let root = r.below(c.size);
    let members = c.members();
    let v = Vectors::new(c, &mut r, c.units, |_| c.units);
    let sum = v.fold(c.leaves());
    let roots = c.roots(root);
    // In place holds for the root only; the others give their inputs.
    let expected = v.expected(|i| (i == root).then(|| sum.clone()));
    let before = v.before();
    let schedule = |i: usize| {
        let given = c.leaves().contains(&i) && !(v.in_place && i == root);
        let input = given.then_some(&v.inputs[i].buffer);
        let output = (i == root).then_some(&v.outputs[i].buffer);
        tern_coll::reduce(&members[i], input, output, &v.operator, roots[i])
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    v.check(c, "reduce", &before, &expected);
}

pub fn allreduce(c: &Case) {
    let mut r = c.random();
    let members = c.members();
    let v = Vectors::new(c, &mut r, c.units, |_| c.units);
    let expected = v.expected(|i| Some(v.fold(c.sources(i))));
    let before = v.before();
    let schedule = |i: usize| tern_coll::allreduce(&members[i], v.input(i), &v.outputs[i].buffer, &v.operator);
    c.run(&members, (0..c.all()).map(schedule).collect());
    v.check(c, "allreduce", &before, &expected);
}

pub fn reduce_scatter(c: &Case) {
    let mut r = c.random();
    let members = c.members();
    let mut counts = any_units(&mut r, c.all(), c.units);
    // Both groups cut the same total.
    let total: usize = counts[..c.size].iter().sum();
    if c.remote > 0 {
        let mut left = total;
        for count in &mut counts[c.size..] {
            *count = r.below(left + 1);
            left -= *count;
        }
        *counts.last_mut().unwrap() += left;
    }
    let v = Vectors::new(c, &mut r, total, |i| counts[i]);
    let group = |i: usize| if i < c.size { 0..c.size } else { c.size..c.all() };
    let expected = v.expected(|i| {
        let start: usize = counts[group(i).start..i].iter().sum();
        let sum = v.fold(c.sources(i));
        Some(sum[start * 8..(start + counts[i]) * 8].to_vec())
    });
    let before = v.before();
    let schedule = |i: usize| {
        let counts: Vec<i64> = counts[group(i)].iter().map(|&n| n as i64).collect();
        let output = &v.outputs[i].buffer;
        tern_coll::reduce_scatter(&members[i], v.input(i), output, &counts, &v.operator)
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    v.check(c, "reduce_scatter", &before, &expected);
}

pub fn reduce_scatter_block(c: &Case) {
    let mut r = c.random();
    let members = c.members();
    // Each group's total is the same, so blocks are as large as the other group has members.
    let scale = c.units.min(6);
    let block = |i: usize| if c.remote == 0 { c.units } else { scale * c.sources(i).len() };
    let total = block(0) * c.size;
    let v = Vectors::new(c, &mut r, total, block);
    let expected = v.expected(|i| {
        let sum = v.fold(c.sources(i));
        let start = c.rank(i) * block(i) * 8;
        Some(sum[start..start + block(i) * 8].to_vec())
    });
    let before = v.before();
    let schedule = |i: usize| {
        let output = Buffer { count: block(i) as i64, ..v.outputs[i].buffer.clone() };
        tern_coll::reduce_scatter_block(&members[i], v.input(i), &output, &v.operator)
    };
    c.run(&members, (0..c.all()).map(schedule).collect());
    v.check(c, "reduce_scatter_block", &before, &expected);
}

pub fn scan(c: &Case) {
    let mut r = c.random();
    let members = c.members();
    let v = Vectors::new(c, &mut r, c.units, |_| c.units);
    let expected = v.expected(|i| Some(v.fold(0..i + 1)));
    let before = v.before();
    let schedule = |i: usize| tern_coll::scan(&members[i], v.input(i), &v.outputs[i].buffer, &v.operator);
    c.run(&members, (0..c.all()).map(schedule).collect());
    v.check(c, "scan", &before, &expected);
}

pub fn exscan(c: &Case) {
    let mut r = c.random();
    let members = c.members();
    let v = Vectors::new(c, &mut r, c.units, |_| c.units);
    let expected = v.expected(|i| (i > 0).then(|| v.fold(0..i)));
    let before = v.before();
    let schedule = |i: usize| tern_coll::exscan(&members[i], v.input(i), &v.outputs[i].buffer, &v.operator);
    c.run(&members, (0..c.all()).map(schedule).collect());
    v.check(c, "exscan", &before, &expected);
}
