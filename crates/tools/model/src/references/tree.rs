//! Trees of members, and the operations that go along them.

use super::program::Program;
use crate::machine::Machine;
use crate::replay::Step;
use std::fmt;

/// How the leaders of one level are put under one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fan {
    /// All under the first one.
    Flat,
    /// Each has as many below it.
    Ary(usize),
    /// As a message spreads where all that have it send to as many new ones in each round, less one; two: binomial.
    Nomial(usize),
}

impl Fan {
    pub const ALL: [Fan; 8] =
        [Fan::Flat, Fan::Ary(2), Fan::Ary(3), Fan::Ary(4), Fan::Ary(8), Fan::Nomial(2), Fan::Nomial(3), Fan::Nomial(4)];

    /// The parent of the member at place `at` of a group, and how far from the first round it is.
    fn parent(self, at: usize) -> usize {
        match self {
            Fan::Flat => 0,
            Fan::Ary(width) => (at - 1) / width,
            Fan::Nomial(radix) => {
                let top = std::iter::successors(Some(1), |place| Some(place * radix))
                    .take_while(|&place| place <= at)
                    .last()
                    .unwrap_or(1);
                at % top
            }
        }
    }
}

impl fmt::Display for Fan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fan::Flat => write!(f, "flat"),
            Fan::Ary(width) => write!(f, "{width}-ary"),
            Fan::Nomial(radix) => write!(f, "{radix}-nomial"),
        }
    }
}

/// A border of the machine around which members form groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    Cache,
    Node,
    Package,
}

impl Border {
    fn of(self, machine: &Machine, member: usize) -> usize {
        let place = machine.places(member);
        match self {
            Border::Cache => place.cache,
            Border::Node => place.node,
            Border::Package => place.package,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Border::Cache => "l3",
            Border::Node => "numa",
            Border::Package => "socket",
        }
    }
}

/// The groups of a tree: the borders, innermost first, and a fan inside each of them and one for what is around the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    pub borders: Vec<Border>,
    pub fans: Vec<Fan>,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (border, fan) in self.borders.iter().zip(&self.fans) {
            write!(f, "{fan} in {}, ", border.name())?;
        }
        write!(f, "{}", self.fans[self.borders.len()])
    }
}

/// Sets of borders that divide the members of `machine`.
pub fn borders(machine: &Machine, ranks: usize) -> Vec<Vec<Border>> {
    let all = [Border::Cache, Border::Node, Border::Package];
    let divides = |border: Border| border.of(machine, 0) != border.of(machine, ranks - 1);
    let known: Vec<Border> = all.into_iter().filter(|&border| divides(border)).collect();
    // A border that is the same as one inside it is left out.
    let count = |border: Border| border.of(machine, ranks - 1);
    let mut different: Vec<Border> = Vec::new();
    for border in known {
        if different.last().is_none_or(|&last| count(last) != count(border)) {
            different.push(border);
        }
    }
    (0..1usize << different.len())
        .map(|set| {
            different.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, &border)| border).collect()
        })
        .collect()
}

/// A tree of the members, whose root is the first one.
#[derive(Clone, Debug)]
pub struct Tree {
    parents: Vec<Option<usize>>,
    /// The nearest level first.
    children: Vec<Vec<usize>>,
    /// The groups of each level: the leader first.
    pub groups: Vec<Vec<Vec<usize>>>,
}

impl Tree {
    pub fn new(machine: &Machine, ranks: usize, form: &Form) -> Tree {
        let mut tree = Tree { parents: vec![None; ranks], children: vec![Vec::new(); ranks], groups: Vec::new() };
        let mut leaders: Vec<usize> = (0..ranks).collect();
        for (level, &fan) in form.fans.iter().enumerate() {
            let part = |member: usize| form.borders.get(level).map_or(0, |border| border.of(machine, member));
            let groups: Vec<Vec<usize>> =
                leaders.chunk_by(|&one, &other| part(one) == part(other)).map(<[usize]>::to_vec).collect();
            for group in &groups {
                for at in 1..group.len() {
                    let parent = group[fan.parent(at)];
                    tree.parents[group[at]] = Some(parent);
                    tree.children[parent].push(group[at]);
                }
            }
            leaders = groups.iter().map(|group| group[0]).collect();
            tree.groups.push(groups);
        }
        tree
    }

    /// The members, each behind its parent.
    fn order(&self) -> Vec<usize> {
        let mut order = vec![0];
        let mut at = 0;
        while at < order.len() {
            order.extend(&self.children[order[at]]);
            at += 1;
        }
        order
    }

    /// Members from each on downwards.
    fn below(&self) -> Vec<usize> {
        let mut below = vec![1; self.parents.len()];
        for &member in self.order().iter().rev() {
            if let Some(parent) = self.parents[member] {
                below[parent] += below[member];
            }
        }
        below
    }
}

/// How the bytes go from member to member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Into shared memory and out of it.
    Two,
    /// Out of the memory of the program.
    One,
}

/// A turn up the tree, in which each member gives `bytes(member)`; the root gives nothing.
pub fn up(program: &mut Program, tree: &Tree, copies: Copies, bytes: impl Fn(usize) -> usize) {
    let mut turns = vec![0; tree.parents.len()];
    for &member in tree.order().iter().rev() {
        let below: Vec<(usize, u64)> = tree.children[member].iter().map(|&child| (child, turns[child])).collect();
        program.await_all(member, &below);
        for (child, turn) in below {
            program.step(member, Step::Read { owner: child, turn, bytes: bytes(child) });
        }
        if tree.parents[member].is_some() {
            let (turn, bytes) = (program.next(member), bytes(member));
            // What no other is combined with lies in the program's memory.
            let there = copies == Copies::One && tree.children[member].is_empty();
            program.step(member, if there { Step::Own { turn, bytes } } else { Step::Write { turn, bytes } });
            turns[member] = program.tell(member);
        }
    }
}

/// A turn down the tree, in which all get the same `bytes`.
pub fn down(program: &mut Program, tree: &Tree, copies: Copies, bytes: usize) {
    let mut turns = vec![0; tree.parents.len()];
    for member in tree.order() {
        if let Some(parent) = tree.parents[member] {
            program.take_all(member, &[(parent, turns[parent])], bytes);
        }
        if tree.children[member].is_empty() {
            continue;
        }
        let turn = program.next(member);
        let step = match (copies, tree.parents[member]) {
            (Copies::Two, _) => Step::Write { turn, bytes },
            (Copies::One, None) => Step::Own { turn, bytes },
            (Copies::One, Some(_)) => Step::Land { turn, bytes },
        };
        program.step(member, step);
        turns[member] = program.tell(member);
        if let (Copies::Two, Some(parent)) = (copies, tree.parents[member]) {
            // A second copy brings it into the program's memory.
            program.step(member, Step::Read { owner: parent, turn: turns[parent], bytes });
        }
    }
}

/// A gather: each member gives the blocks of all below it.
pub fn gather(program: &mut Program, tree: &Tree, bytes: usize) {
    let below = tree.below();
    up(program, tree, Copies::Two, |member| below[member] * bytes);
}

/// A scatter: each child has a turn of its parent's, with the blocks of all below it.
pub fn scatter(program: &mut Program, tree: &Tree, bytes: usize) {
    let below = tree.below();
    let mut turns = vec![0; tree.parents.len()];
    for member in tree.order() {
        if let Some(parent) = tree.parents[member] {
            program.take_all(member, &[(parent, turns[member])], below[member] * bytes);
        }
        // The one with most below it first.
        let mut children = tree.children[member].clone();
        children.sort_by_key(|&child| std::cmp::Reverse(below[child]));
        for child in children {
            turns[child] = program.publish(member, below[child] * bytes);
        }
    }
}

/// A reduction by levels in which the members of each group combine a share of it each, out of the memory of the program.
pub fn shared_up(program: &mut Program, tree: &Tree, bytes: usize) {
    for groups in &tree.groups {
        for group in groups.iter().filter(|group| group.len() > 1) {
            let share = bytes.div_ceil(group.len());
            let mut turn = |member: usize| {
                let turn = program.next(member);
                (0..group.len() as u64)
                    .for_each(|part| program.step(member, Step::OwnPart { turn, part, bytes: share }));
                (member, program.tell(member))
            };
            let there: Vec<(usize, u64)> = group.iter().map(|&member| turn(member)).collect();
            let mut done = Vec::new();
            for (at, &member) in group.iter().enumerate() {
                let others: Vec<(usize, u64)> = there.iter().copied().filter(|&(other, _)| other != member).collect();
                program.await_all(member, &others);
                for (owner, turn) in others {
                    program.step(member, Step::ReadPart { owner, turn, part: at as u64, bytes: share });
                }
                done.push((member, program.publish(member, share)));
            }
            // The first has the result in its memory.
            program.await_all(group[0], &done[1..]);
        }
    }
}
