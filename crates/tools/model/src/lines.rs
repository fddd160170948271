//! The state of shared lines: who holds each, where its memory is, and when it can serve the next reader.
//!
//! - **Holders.** A line that a core has written is held by that core alone. Each reader gets it from the nearest holder and holds it too.
//!   The next write takes it from all of them, and waits for the farthest. A line that nobody holds comes from the memory of its home, the
//!   NUMA node of the core that touched it first.
//! - **Queues.** A line serves one at a time: each third-level cache its own cores, and the line's home all others. Readers of a payload of
//!   several lines follow each other by one line.
//! - **Links.** What leaves a cache loads the links of both caches, and what leaves a package those of both packages. What comes from memory loads
//!   that of its node. A transfer waits until the links on its way have moved what came before.

use crate::machine::{Distance, Machine, Place};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A line, or a payload of several lines that are read and written together: the owner, its turn's cell, and whether it is the payload.
pub type Name = (usize, u64, bool);

/// What crossed each kind of border, in lines: readers' transfers, and a writer's request to get a line back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    pub package: usize,
    pub numa: usize,
    pub cache: usize,
}

impl Crossings {
    /// Those since `before`.
    pub fn since(self, before: Crossings) -> Crossings {
        Crossings {
            package: self.package - before.package,
            numa: self.numa - before.numa,
            cache: self.cache - before.cache,
        }
    }
}

/// A set of cores, caches, nodes or packages, by number.
#[derive(Clone, Debug, Default)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    fn add(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|&number| self.has(number))
    }

    /// Leaves `number` alone in it; tells whether there was another.
    fn reduce_to(&mut self, number: usize) -> bool {
        let own = |word: usize| if word == number / 64 { 1 << (number % 64) } else { 0 };
        let others = self.0.iter().enumerate().any(|(word, bits)| bits & !own(word) != 0);
        self.0.clear();
        self.add(number);
        others
    }
}

#[derive(Debug)]
struct Line {
    /// Who holds it: hyper-threads, cores, caches, nodes and packages.
    holders: [Set; 5],
    /// The hyper-threads, in the order in which they got it.
    list: Vec<usize>,
    /// The cache of the core that has written it last.
    written: Option<usize>,
    home: usize,
    /// When its home has served all that asked so far, in nanoseconds.
    free: f64,
    /// The same of the caches that hold it.
    near: HashMap<usize, f64>,
}

impl Line {
    fn new(home: usize) -> Line {
        Line { holders: Default::default(), list: Vec::new(), written: None, home, free: 0.0, near: HashMap::new() }
    }

    /// `core` and the parts that it is in, as [`Line::holders`] has them.
    fn numbers(core: usize, place: Place) -> [usize; 5] {
        [core, place.core, place.cache, place.node, place.package]
    }

    /// How far the nearest holder is; `None`: nobody holds it.
    fn nearest(&self, core: usize, place: Place) -> Option<Distance> {
        use Distance::{Across, Core, Inside, Near, Node};
        let numbers = Line::numbers(core, place);
        let held = [(1, Core), (2, Near), (3, Node), (4, Inside)];
        let near =
            held.into_iter().find(|&(kind, _)| self.holders[kind].has(numbers[kind])).map(|(_, distance)| distance);
        near.or_else(|| self.holders[0].0.iter().any(|word| *word != 0).then_some(Across))
    }

    /// The cache that gives it over `distance`: that of the last writer, if it is as near, else the first.
    fn giver(&self, machine: &Machine, to: usize, distance: Distance) -> usize {
        let first_core = |cache: usize| cache * machine.cores;
        let is_there = |&cache: &usize| {
            cache == to && distance <= Distance::Near
                || self.holders[2].has(cache) && machine.distance(first_core(cache), first_core(to)) == distance
        };
        self.written.filter(is_there).or_else(|| self.holders[2].numbers().find(is_there)).unwrap_or(to)
    }

    fn hold(&mut self, core: usize, place: Place) {
        let numbers = Line::numbers(core, place);
        self.holders.iter_mut().zip(numbers).for_each(|(holders, number)| holders.add(number));
        self.list.push(core);
    }

    /// Leaves it to `core` alone; gives how far the farthest of the others is.
    fn take(&mut self, core: usize, place: Place) -> Option<Distance> {
        use Distance::{Across, Core, Inside, Near, Node};
        self.list.clear();
        self.list.push(core);
        let numbers = Line::numbers(core, place);
        let mut others = [false; 5];
        self.holders
            .iter_mut()
            .zip(numbers)
            .zip(&mut others)
            .for_each(|((held, own), others)| *others = held.reduce_to(own));
        [Core, Near, Node, Inside, Across]
            .into_iter()
            .zip(others)
            .rev()
            .find(|(_, others)| *others)
            .map(|(distance, _)| distance)
    }
}

/// When each link has moved what came so far, in nanoseconds.
#[derive(Debug)]
struct Links {
    caches: Vec<f64>,
    nodes: Vec<f64>,
    packages: Vec<f64>,
}

/// All lines of a machine.
#[derive(Debug)]
pub struct Lines<'a> {
    machine: &'a Machine,
    lines: HashMap<Name, Line>,
    links: Links,
    pub crossings: Crossings,
}

impl<'a> Lines<'a> {
    pub fn new(machine: &'a Machine) -> Lines<'a> {
        let caches = machine.packages * machine.caches;
        let links = Links {
            caches: vec![0.0; caches],
            nodes: vec![0.0; machine.packages * machine.nodes],
            packages: vec![0.0; machine.packages],
        };
        Lines { machine, lines: HashMap::new(), links, crossings: Crossings::default() }
    }

    /// The NUMA node in whose memory a line lies. Without this it is that of the core that touches it first.
    pub fn lay(&mut self, name: Name, node: usize) {
        match self.lines.entry(name) {
            Entry::Occupied(mut line) => line.get_mut().home = node,
            Entry::Vacant(place) => _ = place.insert(Line::new(node)),
        }
    }

    /// The hyper-threads that hold it.
    pub fn holders(&self, name: Name) -> &[usize] {
        self.lines.get(&name).map_or(&[], |line| &line.list)
    }

    /// `core` reads from `now` on; gives when it has the `bytes`.
    pub fn read(&mut self, core: usize, name: Name, bytes: usize, now: f64) -> f64 {
        let (machine, place) = (self.machine, self.machine.places(core));
        let line = self.lines.entry(name).or_insert_with(|| Line::new(place.node));
        if line.holders[0].has(core) {
            return now + bytes.saturating_sub(64) as f64 / machine.copy;
        }
        let nearest = line.nearest(core, place);
        let home = line.home;
        let begin = match nearest {
            Some(Distance::Core | Distance::Near) => line.near.get(&place.cache).copied().unwrap_or_default().max(now),
            _ => line.free.max(now),
        };
        let Some(distance) = nearest else { return self.fetch((core, name), home, bytes, begin) };
        let from = line.giver(machine, place.cache, distance);
        line.hold(core, place);
        let begin = self.load(distance, [place.cache, from], bytes, begin);
        let line = self.lines.get_mut(&name).expect("read just now");
        let free = begin + machine.cost(distance, 0);
        match distance <= Distance::Near {
            true => _ = line.near.insert(place.cache, free),
            false => line.free = free,
        }
        self.count(distance, bytes);
        begin + machine.cost(distance, bytes)
    }

    /// `core` writes from `now` on; gives when it alone holds the `bytes`.
    pub fn write(&mut self, core: usize, name: Name, bytes: usize, now: f64) -> f64 {
        let (machine, place) = (self.machine, self.machine.places(core));
        let line = self.lines.entry(name).or_insert_with(|| Line::new(place.node));
        let begin = line.near.drain().map(|(_, free)| free).fold(line.free.max(now), f64::max);
        line.written = Some(place.cache);
        let Some(distance) = line.take(core, place) else { return now };
        let end = begin + machine.cost(distance, bytes);
        line.free = end;
        self.count(distance, bytes);
        end
    }

    /// `bytes` come from the memory of node `home`.
    fn fetch(&mut self, (core, name): (usize, Name), home: usize, bytes: usize, begin: f64) -> f64 {
        let (machine, place) = (self.machine, self.machine.places(core));
        let node = &mut self.links.nodes[home];
        let begin = begin.max(*node);
        *node = begin + bytes as f64 / machine.memory_link;
        let distance = match () {
            () if place.node == home => Distance::Node,
            () if place.package == home / machine.nodes => Distance::Inside,
            () => Distance::Across,
        };
        // From another node it takes as much longer as a line between the two.
        let farther = machine.cost(distance, 0) - machine.cost(Distance::Node, 0);
        let rate = machine.cost(distance, bytes) - machine.cost(distance, 0);
        let line = self.lines.get_mut(&name).expect("read just now");
        line.hold(core, place);
        line.free = begin + machine.memory + farther;
        line.free + rate
    }

    /// Loads the links of both `caches` with `bytes` that go between them, and gives when they can begin.
    fn load(&mut self, distance: Distance, caches: [usize; 2], bytes: usize, begin: f64) -> f64 {
        let machine = self.machine;
        if distance <= Distance::Near {
            return begin;
        }
        let bytes = bytes.max(64) as f64;
        let packages = caches.map(|cache| cache / machine.caches);
        let mut begin = caches.iter().fold(begin, |begin, &cache| begin.max(self.links.caches[cache]));
        if distance == Distance::Across {
            begin = packages.iter().fold(begin, |begin, &package| begin.max(self.links.packages[package]));
            packages.iter().for_each(|&package| self.links.packages[package] = begin + bytes / machine.package_link);
        }
        caches.iter().for_each(|&cache| self.links.caches[cache] = begin + bytes / machine.cache_link);
        begin
    }

    /// Counts what crosses borders over that distance.
    pub fn count(&mut self, distance: Distance, bytes: usize) {
        let lines = bytes.div_ceil(64).max(1);
        let crosses = |border: Distance| if distance >= border { lines } else { 0 };
        self.crossings.package += crosses(Distance::Across);
        self.crossings.numa += crosses(Distance::Inside);
        self.crossings.cache += crosses(Distance::Node);
    }
}

#[cfg(test)]
mod tests;
