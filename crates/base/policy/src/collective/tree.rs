//! The tree along which members of a large node meet: who waits for whom.
//!
//! Members that share a cache, a NUMA node or a package form a group, inside the group of what is around it. One member of each group
//! leads it. Members tell their leader, and leaders the leader of the group around theirs, so that few lines cross a border of the machine: one
//! each way for each group. The levels are those of XHC (Open MPI, docs/tuning-apps/collectives/xhc.rst) and of MPICH's release-gather; that a
//! node's members should not all read from all follows from the model of Ramos and Hoefler (HPDC 2013).

use alloc::vec;
use alloc::vec::Vec;
/// The parts of the machine that a member is bound to, the widest first: package, NUMA node, third-level cache. [`ANYWHERE`]: to none of
/// that kind.
pub type Parts = [u32; 3];

/// Not bound to one part of that kind.
pub const ANYWHERE: u32 = u32::MAX;

/// Fewest members of one node that meet along a tree. Fewer read from each other at once, for which each waits once and not on
/// the way up and on the way down.
pub const TREE_FROM: usize = 16;
/// Most members that stay without a tree where they all share one cache.
const FLAT: usize = 32;
/// Most members that tell one leader. More are divided: those who read one line wait for each other.
const WIDEST: usize = 15;

/// Whether a tree serves these members better than that all read from all. They are on one node.
pub fn grows(parts: &[Parts]) -> bool {
    parts.len() >= TREE_FROM
        && parts.iter().all(|parts| parts.iter().any(|&part| part != ANYWHERE))
        && (parts.len() > FLAT || (0..3).any(|level| divides(parts, level)))
}

/// Whether there are several groups at that level, and several members in one of them.
fn divides(parts: &[Parts], level: usize) -> bool {
    let groups = groups(&(0..parts.len() as u32).collect::<Vec<_>>(), parts, level);
    groups.len() > 1 && groups.len() < parts.len()
}

/// A tree of all members, with one of them at its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    parents: Vec<Option<u32>>,
    children: Vec<Vec<u32>>,
}

impl Tree {
    /// The tree of members in those parts, with `root` at its root: it leads all groups that it is in. All members come to the same.
    pub fn new(parts: &[Parts], root: u32) -> Tree {
        let mut tree = Tree { parents: vec![None; parts.len()], children: vec![Vec::new(); parts.len()] };
        let all: Vec<u32> = (0..parts.len() as u32).collect();
        tree.join(&all, parts, 0, root);
        tree
    }

    /// Puts `members` under one of them, which it returns: those of each part at `level` and below first.
    fn join(&mut self, members: &[u32], parts: &[Parts], level: usize, root: u32) -> u32 {
        if level == 3 {
            return self.gather(members, root);
        }
        let groups = groups(members, parts, level);
        let leaders: Vec<u32> = groups.iter().map(|group| self.join(group, parts, level + 1, root)).collect();
        self.gather(&leaders, root)
    }

    /// Puts `leaders` under one of them: at once, or in as many steps as it takes that none has too many.
    fn gather(&mut self, leaders: &[u32], root: u32) -> u32 {
        if leaders.len() > WIDEST + 1 {
            let few = leaders.len().div_ceil(leaders.len().isqrt());
            let parts: Vec<u32> = leaders.chunks(few).map(|part| self.gather(part, root)).collect();
            return self.gather(&parts, root);
        }
        let first = leaders.iter().copied().find(|&leader| leader == root).unwrap_or(leaders[0]);
        for &other in leaders.iter().filter(|&&other| other != first) {
            self.parents[other as usize] = Some(first);
            self.children[first as usize].push(other);
        }
        first
    }

    /// The member that `member` tells and hears from; `None` for the root.
    pub fn parent(&self, member: u32) -> Option<u32> {
        self.parents[member as usize]
    }

    /// The members that tell this one, the nearest first.
    pub fn children(&self, member: u32) -> &[u32] {
        &self.children[member as usize]
    }

    /// The members from `member` on downwards: itself, then those below each of its children.
    pub fn below(&self, member: u32) -> Vec<u32> {
        let mut all = vec![member];
        self.children(member).iter().for_each(|&child| all.extend(self.below(child)));
        all
    }
}

/// `members` by their part at `level`, in the order in which each part comes first.
fn groups(members: &[u32], parts: &[Parts], level: usize) -> Vec<Vec<u32>> {
    let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
    for &member in members {
        let part = parts[member as usize][level];
        match groups.iter_mut().find(|(of, _)| *of == part) {
            Some((_, group)) => group.push(member),
            None => groups.push((part, vec![member])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Members one after the other on the cores of a machine.
    fn machine(packages: u32, caches: u32, cores: u32) -> Vec<Parts> {
        let core = |core: u32| [core / (caches * cores), core / (caches * cores), core / cores];
        (0..packages * caches * cores).map(core).collect()
    }

    /// Edges of the tree that cross a border at `level`.
    fn crossings(tree: &Tree, parts: &[Parts], level: usize) -> usize {
        let crosses = |&member: &u32| {
            let part = |member: u32| parts[member as usize][level];
            tree.parent(member).is_some_and(|parent| part(parent) != part(member))
        };
        (0..parts.len() as u32).filter(crosses).count()
    }

    #[test]
    fn each_group_has_one_way_out() {
        let parts = machine(2, 6, 8);
        for root in [0, 5, 50, 95] {
            let tree = Tree::new(&parts, root);
            assert_eq!([0, 2].map(|level| crossings(&tree, &parts, level)), [1, 11], "root {root}");
            assert_eq!(tree.parent(root), None);
            assert_eq!(tree.children(root).len(), 7 + 5 + 1, "root {root}");
        }
        let tree = Tree::new(&parts, 50);
        assert_eq!(tree.children(50)[..7], [48, 49, 51, 52, 53, 54, 55], "the nearest first");
    }

    #[test]
    fn many_of_one_cache_are_divided() {
        let tree = Tree::new(&machine(1, 1, 64), 0);
        let widest = (0..64).map(|member| tree.children(member).len()).max();
        assert_eq!(widest, Some(7 + 7));
    }

    #[test]
    fn a_tree_is_for_many_in_several_groups() {
        assert!(grows(&machine(2, 1, 8)));
        assert!(!grows(&machine(2, 1, 7)), "few");
        assert!(!grows(&machine(1, 1, 32)), "one cache");
        assert!(grows(&machine(1, 1, 33)));
        assert!(!grows(&machine(32, 1, 1)), "each has a package of its own");
        assert!(!grows(&[[ANYWHERE; 3]; 96]), "not bound");
    }

    proptest! {
        #[test]
        fn all_members_are_below_the_root(
            parts in prop::collection::vec([0u32..3, 0u32..4, 0u32..6], 1..120), root in 0u32..120,
        ) {
            let root = root % parts.len() as u32;
            let tree = Tree::new(&parts, root);
            let mut all = tree.below(root);
            all.sort_unstable();
            prop_assert_eq!(all, (0..parts.len() as u32).collect::<Vec<_>>());
            for member in 0..parts.len() as u32 {
                for &child in tree.children(member) {
                    prop_assert_eq!(tree.parent(child), Some(member));
                }
            }
        }
    }
}
