//! The state of shared lines: who holds each, and when it can serve the next reader.
//!
//! A line that a core has written is held by that core alone. Each reader gets it from the nearest holder and holds it too, and
//! a line serves one at a time. The next write takes it from all of them.

use crate::machine::{Distance, Machine};
use std::collections::HashMap;

/// A line, or a payload of several lines that are read and written together: the owner, its turn's cell, and whether it is the payload.
pub type Name = (usize, u64, bool);

/// What crossed each kind of border, in lines: readers' transfers, and a writer's request to get a line back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    pub package: usize,
    pub cache: usize,
}

#[derive(Debug, Default)]
struct Line {
    holders: Vec<usize>,
    /// When the last transfer ends, in nanoseconds.
    free: f64,
}

/// All lines of a machine.
#[derive(Debug)]
pub struct Lines<'a> {
    machine: &'a Machine,
    lines: HashMap<Name, Line>,
    pub crossings: Crossings,
}

impl<'a> Lines<'a> {
    pub fn new(machine: &'a Machine) -> Lines<'a> {
        Lines { machine, lines: HashMap::new(), crossings: Crossings::default() }
    }

    /// The cores that hold it.
    pub fn holders(&self, name: Name) -> &[usize] {
        self.lines.get(&name).map_or(&[], |line| &line.holders)
    }

    /// Counts what crosses borders over that distance.
    pub fn count(&mut self, distance: Distance, bytes: usize) {
        let lines = bytes.div_ceil(64).max(1);
        self.crossings.package += if distance == Distance::Across { lines } else { 0 };
        self.crossings.cache += if distance >= Distance::Inside { lines } else { 0 };
    }

    /// `core` reads from `now` on; gives when it has the `bytes`.
    pub fn read(&mut self, core: usize, name: Name, bytes: usize, now: f64) -> f64 {
        let machine = self.machine;
        let line = self.lines.entry(name).or_default();
        if line.holders.contains(&core) {
            return now;
        }
        let nearest = line.holders.iter().map(|&holder| machine.distance(core, holder)).min();
        line.holders.push(core);
        let Some(distance) = nearest else { return now };
        line.free = line.free.max(now) + machine.cost(distance, bytes);
        let end = line.free;
        self.count(distance, bytes);
        end
    }

    /// `core` writes from `now` on; gives when it alone holds the `bytes`.
    pub fn write(&mut self, core: usize, name: Name, bytes: usize, now: f64) -> f64 {
        let machine = self.machine;
        let line = self.lines.entry(name).or_default();
        let farthest =
            line.holders.iter().filter(|&&holder| holder != core).map(|&holder| machine.distance(core, holder)).max();
        line.holders = vec![core];
        let Some(distance) = farthest else { return now };
        line.free = line.free.max(now) + machine.cost(distance, 64);
        let end = line.free;
        self.count(distance, bytes);
        end
    }
}
