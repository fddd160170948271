//! The tree along which members of a large node meet: who waits for whom.
//!
//! Members that share a cache, a NUMA node or a package form a group, inside the group of what is around it. One member of each group
//! leads it. Members tell their leader, and leaders the leader of the group around theirs, so that few lines cross a border of the machine: one
//! each way for each group. Short data goes up in few steps, since a member's loads overlap, and down in more, since readers of one line wait for each
//! other: so the two ways have trees of their own. The tops of several packages tell each other, which saves the way down to the second.
//!
//! The levels are those of XHC (Open MPI, docs/tuning-apps/collectives/xhc.rst) and of MPICH's release-gather; that a
//! node's members should not all read from all follows from the model of Ramos and Hoefler (HPDC 2013).

mod spread;

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
/// Most members that tell one leader. More are divided: who reads many lines has to wait for the last of them.
const WIDEST: usize = 15;
/// The same where each tells so much that a leader's own work counts.
const NARROW: usize = 2;
/// Most members without one above them. They tell each other, of which each reads as many lines as there are others.
const MOST_TOPS: usize = 8;
/// Longest data of which a leader reads many at once: what lies in the line of a turn, and little more.
const WIDE: usize = 256;
/// Longest data that each passes on to few, in many steps. Longer data would be copied in each step.
const SPREAD: usize = 2 << 10;

/// The shape of a tree, by what goes along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeForm {
    /// Leaders hear from many, and tell few.
    Short,
    /// Leaders hear from few, and tell few.
    Middle,
    /// Leaders hear from few, and tell many.
    Long,
}

impl TreeForm {
    /// The form for data of so many bytes.
    pub fn of(bytes: usize) -> TreeForm {
        match () {
            () if bytes <= WIDE => TreeForm::Short,
            () if bytes <= SPREAD => TreeForm::Middle,
            () => TreeForm::Long,
        }
    }
}

/// Who is on top of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Top {
    /// This member, to which the operation goes or from which it comes.
    Root(u32),
    /// One of each widest group: they tell each other what they have heard.
    Several,
}

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

/// Who tells whom in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges {
    parents: Vec<Option<u32>>,
    children: Vec<Vec<u32>>,
}

impl Edges {
    fn new(members: usize) -> Edges {
        Edges { parents: vec![None; members], children: vec![Vec::new(); members] }
    }

    fn add(&mut self, parent: u32, child: u32) {
        self.parents[child as usize] = Some(parent);
        self.children[parent as usize].push(child);
    }

    /// The member next to `member` on the way to a top; `None` for a top.
    pub fn parent(&self, member: u32) -> Option<u32> {
        self.parents[member as usize]
    }

    /// The members whose parent this one is, the nearest first.
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

/// A tree of all members: one way up, and one way down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Who hears from whom on the way up.
    pub up: Edges,
    /// Who hears from whom on the way down.
    pub down: Edges,
    /// The members without one above them, in order: they are the same on both ways.
    pub tops: Vec<u32>,
}

impl Tree {
    /// The tree of members in those parts. A root leads all groups that it is in. All members come to the same.
    pub fn new(parts: &[Parts], top: Top, form: TreeForm) -> Tree {
        let all: Vec<u32> = (0..parts.len() as u32).collect();
        let (root, several) = match top {
            Top::Root(root) => (root, false),
            Top::Several => (0, true),
        };
        let forest = if several { widest(&all, parts) } else { vec![all] };
        let mut tree = Tree { up: Edges::new(parts.len()), down: Edges::new(parts.len()), tops: Vec::new() };
        for members in forest {
            // Groups that tell many lead each other through all levels; to few, a way over fewer members is shorter.
            let levels: &[usize] = if form == TreeForm::Short { &[0, 2] } else { &[0, 1, 2] };
            let join = Join {
                parts,
                levels,
                root,
                widest: if form == TreeForm::Short { Fan::Flat } else { Fan::Ary(NARROW) },
            };
            let leader = join.join(&mut tree.up, &members, 0);
            tree.tops.push(leader);
            match form {
                TreeForm::Long => {
                    _ = Join { parts, levels: &[0, 1, 2], root, widest: Fan::Flat }.join(&mut tree.down, &members, 0)
                }
                TreeForm::Short | TreeForm::Middle => spread::spread(&mut tree.down, &members, parts, leader),
            }
        }
        tree
    }
}

/// The groups of which each has a top: packages, or parts of one cache that has many members. One group, if there would be too many.
fn widest(members: &[u32], parts: &[Parts]) -> Vec<Vec<u32>> {
    let by = |level: usize| groups(members, parts, level);
    let packages = by(0);
    let found = match packages.len() {
        1 if by(2).len() == 1 && members.len() > WIDEST => chunks(members),
        _ => packages,
    };
    if found.len() <= MOST_TOPS { found } else { vec![members.to_vec()] }
}

/// `members` in about as many parts as each has members.
fn chunks(members: &[u32]) -> Vec<Vec<u32>> {
    members.chunks(members.len().div_ceil(members.len().isqrt())).map(<[u32]>::to_vec).collect()
}

/// How leaders are put under one of them.
#[derive(Clone, Copy)]
enum Fan {
    /// At once, or in as many steps as it takes that none has too many.
    Flat,
    /// So many under each.
    Ary(usize),
}

/// Members of each part tell one of them, and those tell one of the part around theirs.
struct Join<'a> {
    parts: &'a [Parts],
    levels: &'a [usize],
    root: u32,
    widest: Fan,
}

impl Join<'_> {
    /// Puts `members` under one of them, which it returns: those of each part at the level and below first.
    fn join(&self, edges: &mut Edges, members: &[u32], at: usize) -> u32 {
        let Some(&level) = self.levels.get(at) else { return self.gather(edges, members) };
        let groups = groups(members, self.parts, level);
        let leaders: Vec<u32> = groups.iter().map(|group| self.join(edges, group, at + 1)).collect();
        self.gather(edges, &leaders)
    }

    fn gather(&self, edges: &mut Edges, leaders: &[u32]) -> u32 {
        let first = leaders.iter().copied().find(|&leader| leader == self.root).unwrap_or(leaders[0]);
        match self.widest {
            Fan::Flat if leaders.len() > WIDEST + 1 => {
                let parts: Vec<u32> = chunks(leaders).iter().map(|part| self.gather(edges, part)).collect();
                return self.gather(edges, &parts);
            }
            Fan::Flat => leaders.iter().filter(|&&other| other != first).for_each(|&other| edges.add(first, other)),
            Fan::Ary(width) => {
                let order = led_by(first, leaders);
                (1..order.len()).for_each(|at| edges.add(order[(at - 1) / width], order[at]));
            }
        }
        first
    }
}

/// `members` with `first` before all others.
fn led_by(first: u32, members: &[u32]) -> Vec<u32> {
    [first].into_iter().chain(members.iter().copied().filter(|&other| other != first)).collect()
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

    /// Edges that cross a border at `level`.
    fn crossings(edges: &Edges, parts: &[Parts], level: usize) -> usize {
        let crosses = |&member: &u32| {
            let part = |member: u32| parts[member as usize][level];
            edges.parent(member).is_some_and(|parent| part(parent) != part(member))
        };
        (0..parts.len() as u32).filter(crosses).count()
    }

    const FORMS: [TreeForm; 3] = [TreeForm::Short, TreeForm::Middle, TreeForm::Long];

    #[test]
    fn each_group_has_one_way_out() {
        let parts = machine(2, 6, 8);
        for form in FORMS {
            for root in [0, 5, 50, 95] {
                let tree = Tree::new(&parts, Top::Root(root), form);
                assert_eq!(tree.tops, [root]);
                for edges in [&tree.up, &tree.down] {
                    assert_eq!([0, 2].map(|level| crossings(edges, &parts, level)), [1, 11], "root {root}, {form:?}");
                    assert_eq!(edges.parent(root), None);
                }
            }
            let tree = Tree::new(&parts, Top::Several, form);
            assert_eq!(tree.tops, [0, 48], "one of each package");
            for edges in [&tree.up, &tree.down] {
                assert_eq!([0, 2].map(|level| crossings(edges, &parts, level)), [0, 10], "{form:?}");
            }
        }
        let up = Tree::new(&parts, Top::Root(50), TreeForm::Short).up;
        assert_eq!(up.children(50)[..7], [48, 49, 51, 52, 53, 54, 55], "the nearest first");
        assert_eq!(up.children(50).len(), 7 + 5 + 1);
    }

    #[test]
    fn long_data_comes_from_few_and_short_data_goes_to_few() {
        let parts = machine(2, 6, 8);
        let widest = |edges: &Edges| (0..96).map(|member| edges.children(member).len()).max().expect("members");
        let of = |form| {
            let tree = Tree::new(&parts, Top::Root(0), form);
            (widest(&tree.up), widest(&tree.down))
        };
        assert_eq!(of(TreeForm::Short), (7 + 5 + 1, 4));
        assert_eq!(of(TreeForm::Middle), (2 + 2 + 1, 4));
        assert_eq!(of(TreeForm::Long), (2 + 2 + 1, 7 + 5 + 1));
        assert_eq!([0, 256, 257, 2048, 2049].map(TreeForm::of), {
            use TreeForm::{Long, Middle, Short};
            [Short, Short, Middle, Middle, Long]
        });
    }

    #[test]
    fn many_of_one_cache_are_divided() {
        let parts = machine(1, 1, 64);
        let tree = Tree::new(&parts, Top::Root(0), TreeForm::Short);
        let widest = (0..64).map(|member| tree.up.children(member).len()).max();
        assert_eq!(widest, Some(7 + 7));
        assert_eq!(Tree::new(&parts, Top::Several, TreeForm::Short).tops, [0, 8, 16, 24, 32, 40, 48, 56]);
        assert_eq!(Tree::new(&machine(9, 1, 8), Top::Several, TreeForm::Short).tops, [0], "too many packages");
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
            for (form, top) in FORMS.into_iter().flat_map(|form| [(form, Top::Root(root)), (form, Top::Several)]) {
                let tree = Tree::new(&parts, top, form);
                for edges in [&tree.up, &tree.down] {
                    let mut all: Vec<u32> = tree.tops.iter().flat_map(|&top| edges.below(top)).collect();
                    all.sort_unstable();
                    prop_assert_eq!(all, (0..parts.len() as u32).collect::<Vec<_>>());
                    for member in 0..parts.len() as u32 {
                        for &child in edges.children(member) {
                            prop_assert_eq!(edges.parent(child), Some(member));
                        }
                    }
                }
            }
        }
    }
}
