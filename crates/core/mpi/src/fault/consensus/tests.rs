//! All orders of small worlds, and seeds of larger ones.

use super::super::tree::Tree;
use super::*;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    parts: Vec<Agreement>,
    alive: Vec<bool>,
    called: Vec<bool>,
    ways: BTreeMap<(usize, usize), VecDeque<Message>>,
    /// Deaths that a living process has not been told of: (who is told, who died).
    notices: BTreeSet<(usize, usize)>,
    kills: usize,
    /// Whoever has decided drops its machine.
    forgets: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call(usize),
    Deliver(usize, usize),
    Notice(usize, usize),
    /// The rank dies; what it has sent may still come.
    Kill(usize),
    /// The last message on a dead process's way is lost.
    Lose(usize, usize),
}

impl World {
    fn new(tree: Tree, kills: usize, forgets: bool) -> Self {
        let size = tree.size;
        let parts = (0..size).map(|me| Agreement::new(Rc::new(tree.place(me, &Ranks::new())), Join::And)).collect();
        Self {
            parts,
            alive: vec![true; size],
            called: vec![false; size],
            ways: BTreeMap::new(),
            notices: BTreeSet::new(),
            kills,
            forgets,
        }
    }

    fn has_forgotten(&self, rank: usize) -> bool {
        self.forgets && self.parts[rank].decision().is_some()
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let living = (0..self.parts.len()).filter(|&r| self.alive[r]);
        steps.extend(living.clone().filter(|&r| !self.called[r]).map(Step::Call));
        for &(from, to) in self.ways.keys() {
            steps.push(Step::Deliver(from, to));
            if !self.alive[from] {
                steps.push(Step::Lose(from, to));
            }
        }
        steps.extend(self.notices.iter().map(|&(to, dead)| Step::Notice(to, dead)));
        if self.kills > 0 && living.clone().count() > 1 {
            steps.extend(living.map(Step::Kill));
        }
        steps
    }

    fn take(&mut self, step: Step) {
        let (who, out) = match step {
            Step::Call(r) => {
                self.called[r] = true;
                (r, self.parts[r].call((!(1i32 << r)).to_le_bytes().to_vec(), Ranks::new()))
            }
            Step::Deliver(from, to) => {
                let message = self.ways.get_mut(&(from, to)).unwrap().pop_front().unwrap();
                let out = match message {
                    Message::Up(ballot, _) if self.has_forgotten(to) => {
                        vec![(from, Message::Down(ballot, Rc::default()))]
                    }
                    Message::Down(..) if self.has_forgotten(to) => Vec::new(),
                    message => self.parts[to].receive(from, message),
                };
                (to, out)
            }
            Step::Lose(from, to) => {
                self.ways.get_mut(&(from, to)).unwrap().pop_back();
                (to, Vec::new())
            }
            Step::Notice(to, dead) => {
                self.notices.remove(&(to, dead));
                let mut out = Vec::new();
                if !self.has_forgotten(to) {
                    out = self.parts[to].died(dead);
                    out.extend(self.parts[to].ask().into_iter().filter(|_| self.forgets));
                }
                (to, out)
            }
            Step::Kill(r) => {
                self.kills -= 1;
                self.alive[r] = false;
                self.notices.retain(|n| n.0 != r);
                let others = (0..self.parts.len()).filter(|&o| self.alive[o]);
                self.notices.extend(others.map(|o| (o, r)));
                (r, Vec::new())
            }
        };
        for (to, message) in out {
            self.ways.entry((who, to)).or_default().push_back(message);
        }
        let alive = &self.alive;
        self.ways.retain(|way, queue| alive[way.1] && !queue.is_empty());
    }

    /// Living processes that have decided never differ, and all have when nothing is left to come.
    fn check(&self, is_end: bool) {
        let living = || (0..self.parts.len()).filter(|&r| self.alive[r]);
        let decisions: HashSet<_> =
            living().filter_map(|r| self.parts[r].decision()).map(|d| format!("{d:?}")).collect();
        assert!(decisions.len() <= 1 || self.forgets, "{self:#?}");
        assert!(decisions.is_empty() || living().all(|r| self.called[r]), "{self:#?}");
        if is_end {
            assert!(living().all(|r| self.parts[r].decision().is_some()), "{self:#?}");
            if self.forgets {
                return;
            }
            let decision = living().find_map(|r| self.parts[r].decision()).unwrap();
            let flags = i32::from_le_bytes(decision.value[..].try_into().unwrap());
            assert!(living().all(|r| flags & (1 << r) == 0 && !decision.failed.contains(r)));
            assert_eq!(decision.unacknowledged, !decision.failed.is_empty());
        }
    }
}

fn explore(tree: Tree, kills: usize, forgets: bool) -> usize {
    let mut seen = HashSet::new();
    let mut open = vec![World::new(tree, kills, forgets)];
    while let Some(world) = open.pop() {
        if !seen.insert(fingerprint(&world)) {
            continue;
        }
        let steps = world.steps();
        world.check(steps.iter().all(|step| matches!(step, Step::Kill(_))));
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            open.push(next);
        }
    }
    seen.len()
}

fn fingerprint(world: &World) -> u128 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, world).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// A chain, a binary tree and a root with all others below it, as far as they differ.
fn trees(size: usize) -> impl Iterator<Item = Tree> {
    (1..size).filter(move |width| *width <= 2 || width + 1 == size).map(move |width| Tree { size, width })
}

fn explore_all(worlds: &[(usize, usize)], forgets: bool) {
    for &(size, kills) in worlds {
        for tree in trees(size) {
            println!("{tree:?}, {kills} deaths: {} states", explore(tree, kills, forgets));
        }
    }
}

#[test]
fn all_orders_of_small_worlds() {
    explore_all(&[(2, 1), (3, 1), (3, 2), (4, 0), (4, 1), (4, 2), (4, 3)], false);
}

#[test]
fn all_orders_where_machines_are_dropped() {
    explore_all(&[(2, 1), (3, 1), (3, 2), (4, 1)], true);
}

#[test]
fn seeds_of_larger_worlds() {
    for seed in 1..=10_000u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |n: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as usize % n
        };
        let size = 2 + below(15);
        let tree = Tree { size, width: 1 + below(size) };
        let mut world = World::new(tree, below(size), seed % 3 == 0);
        for step in 0.. {
            assert!(step < 20_000, "seed {seed} does not end");
            let mut steps = world.steps();
            if below(8) != 0 {
                steps.retain(|step| !matches!(step, Step::Kill(_)));
            }
            if steps.is_empty() {
                break;
            }
            world.take(steps[below(steps.len())]);
            world.check(false);
        }
        world.check(true);
    }
}

#[test]
fn who_has_left_is_missed_and_has_not_failed() {
    let mut world = World::new(Tree { size: 4, width: 2 }, 0, false);
    for rank in 1..4 {
        world.take(Step::Call(rank));
    }
    for rank in 1..4 {
        let out = world.parts[rank].left(0);
        out.into_iter().for_each(|(to, message)| world.ways.entry((rank, to)).or_default().push_back(message));
    }
    while let Some(&step) = world.steps().iter().find(|step| matches!(step, Step::Deliver(_, to) if *to != 0)) {
        world.take(step);
    }
    for rank in 1..4 {
        let decision = world.parts[rank].decision().expect("the others go on");
        assert!(decision.failed.is_empty() && !decision.unacknowledged, "{decision:?}");
    }
}

#[test]
fn two_messages_for_each_process_without_a_death() {
    for (size, width) in [(1, 2), (2, 2), (7, 2), (16, 4), (31, 16)] {
        let mut world = World::new(Tree { size, width }, 0, false);
        let mut messages = 0;
        while let Some(&step) = world.steps().first() {
            messages += usize::from(matches!(step, Step::Deliver(..)));
            world.take(step);
        }
        world.check(true);
        assert_eq!(messages, 2 * (size - 1));
    }
}
