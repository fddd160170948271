//! What the members of a communicator build to work together: a tree on a large node, or two levels over several nodes.

use super::selection::Selection;
use super::tree::{Parts, TREE_FROM, grows};

/// Whether two levels may win something: there are several nodes, and several processes on the `widest`, which has most of them.
pub fn has_levels(nodes: usize, widest: usize) -> bool {
    nodes > 1 && widest > 1
}

/// Whether so many members of a node look for a tree. Those that are more than the cores have none, unless one is asked for.
pub fn may_grow(members: usize, crowded: bool, selection: &Selection) -> bool {
    selection.forces_any_tree() || (members >= TREE_FROM && !crowded)
}

/// Whether members that are bound so have a tree: it serves them better than flat lines, or one is asked for.
pub fn has_tree(parts: &[Parts], selection: &Selection) -> bool {
    grows(parts) || selection.forces_any_tree()
}

#[cfg(test)]
mod tests {
    use super::super::names::Collective;
    use super::super::selection::Forced;
    use super::*;

    #[test]
    fn two_levels_need_several_nodes_and_a_neighbour() {
        assert!(has_levels(2, 2) && !has_levels(1, 3) && !has_levels(3, 1));
    }

    #[test]
    fn a_tree_is_for_many_members_with_a_core_each_or_for_who_asks() {
        let plain = Selection::default();
        assert!(may_grow(TREE_FROM, false, &plain));
        assert!(!may_grow(TREE_FROM, true, &plain) && !may_grow(TREE_FROM - 1, false, &plain));
        let mut asked = Selection::default();
        asked.force(Collective::Bcast, Forced::Tree);
        assert!(may_grow(2, true, &asked) && has_tree(&[], &asked) && !has_tree(&[], &plain));
    }
}
