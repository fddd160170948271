//! Trees as one of their members sees them.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use tern_policy::collective::{Edges, Parts, Top, Tree, TreeForm};

/// What makes a tree of a communicator.
type Key = (Top, TreeForm);

/// The trees of a communicator, made when they are first needed.
#[derive(Debug)]
pub(in super::super) struct Trees {
    parts: Rc<[Parts]>,
    branches: RefCell<BTreeMap<Key, Rc<Branch>>>,
    pub(super) run: Run,
}

/// Turns along one tree that follow each other.
#[derive(Debug, Default)]
pub(super) struct Run {
    tree: RefCell<Option<(Key, Rc<Branch>)>>,
    /// The turn before the first of them, and the last one.
    pub(super) since: Cell<u64>,
    pub(super) last: Cell<u64>,
    /// A turn that the neighbours are known to have reached.
    pub(super) near: Cell<u64>,
}

/// The edges of a member in one direction.
#[derive(Debug)]
pub(super) struct Own {
    pub parent: Option<usize>,
    pub children: Vec<usize>,
}

/// A tree as one of its members sees it.
#[derive(Debug)]
pub(super) struct Branch {
    pub up: Own,
    pub down: Own,
    /// The members without one above them.
    pub tops: Vec<usize>,
    /// If this is one of them: the others.
    pub peers: Vec<usize>,
    /// All whose lines this member looks at, and those that look at its own.
    pub neighbours: Vec<usize>,
    order: OnceCell<Order>,
    parts: Rc<[Parts]>,
    key: Key,
}

/// The members in the order of the way up, in which those below one stand together.
#[derive(Debug)]
pub(super) struct Order {
    pub members: Vec<u32>,
    /// For each member its place there, and how many stand from there on below it, itself among them.
    pub places: Vec<(usize, usize)>,
}

impl Trees {
    pub(in super::super) fn new(parts: Vec<Parts>) -> Trees {
        Trees { parts: parts.into(), branches: RefCell::default(), run: Run::default() }
    }

    /// The tree of an operation whose turns follow `before`. If it is another one than that of the turns before, a new run begins.
    pub(super) fn follow(&self, me: usize, before: u64, top: Top, form: TreeForm) -> Rc<Branch> {
        let (run, key) = (&self.run, (top, form));
        let mut tree = run.tree.borrow_mut();
        let known = tree.as_ref().filter(|(of, _)| *of == key).map(|(_, branch)| branch.clone());
        if run.last.get() != before || known.is_none() {
            run.since.set(before);
            run.near.set(0);
        }
        let branch = known.unwrap_or_else(|| self.branch(me, key));
        if tree.as_ref().is_none_or(|(of, _)| *of != key) {
            *tree = Some((key, branch.clone()));
        }
        branch
    }

    fn branch(&self, me: usize, key: Key) -> Rc<Branch> {
        let mut branches = self.branches.borrow_mut();
        branches.entry(key).or_insert_with(|| Rc::new(Branch::new(me, self.parts.clone(), key))).clone()
    }
}

impl Own {
    fn new(edges: &Edges, me: usize) -> Own {
        let children = edges.children(me as u32).iter().map(|&child| child as usize).collect();
        Own { parent: edges.parent(me as u32).map(|parent| parent as usize), children }
    }
}

impl Branch {
    fn new(me: usize, parts: Rc<[Parts]>, key: Key) -> Branch {
        let tree = Tree::new(&parts, key.0, key.1);
        let [up, down] = [&tree.up, &tree.down].map(|edges| Own::new(edges, me));
        let tops: Vec<usize> = tree.tops.iter().map(|&top| top as usize).collect();
        let peers: Vec<usize> = tops.iter().copied().filter(|&top| top != me && tops.contains(&me)).collect();
        let edges = [&up, &down].into_iter().flat_map(|own| own.children.iter().chain(&own.parent));
        let mut neighbours: Vec<usize> = edges.chain(&peers).copied().collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        Branch { up, down, tops, peers, neighbours, order: OnceCell::new(), parts, key }
    }

    /// A number of 15 bits for the tree, not 0. Members whose numbers differ go along different ones, but not all roots of more than a
    /// thousand members are told apart.
    pub(super) fn way(&self) -> u16 {
        let (top, form) = self.key;
        let root = match top {
            Top::Root(root) => root % 0x3ff,
            Top::Several => 0x3ff,
        };
        1 + form as u16 + ((root as u16) << 2)
    }

    pub(super) fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            let tree = Tree::new(&self.parts, self.key.0, self.key.1);
            let members: Vec<u32> = tree.tops.iter().flat_map(|&top| tree.up.below(top)).collect();
            let mut places = vec![(0, 0); members.len()];
            for (at, &member) in members.iter().enumerate() {
                places[member as usize] = (at, tree.up.below(member).len());
            }
            Order { members, places }
        })
    }
}
