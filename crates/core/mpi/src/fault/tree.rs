//! The tree along which agreements gather what members bring, without regard to who lives.

use super::ranks::Ranks;
use std::ops::Range;

/// A tree of the ranks below `size`, in which nobody has more than `width` children. A subtree is a range of ranks, and its root is the lowest
/// of them, so that neighbours, who mostly share a node, are near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    pub size: usize,
    pub width: usize,
}

impl Tree {
    fn all(&self) -> Range<usize> {
        0..self.size
    }

    /// The subtrees of the children of a subtree's root: as many as there may be, as alike as can be.
    fn below(&self, subtree: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let rest = subtree.len() - 1;
        let parts = self.width.min(rest);
        let start = move |part: usize, first: usize| first + 1 + part * (rest / parts) + part.min(rest % parts);
        let first = subtree.start;
        (0..parts).map(move |part| start(part, first)..start(part + 1, first))
    }

    /// The subtrees that `rank` is in, from the whole tree down to its own.
    pub fn around(&self, rank: usize) -> impl Iterator<Item = Range<usize>> {
        std::iter::successors(Some(self.all()), move |around| {
            let mut below = (around.start != rank).then(|| self.below(around)).into_iter().flatten();
            below.find(|subtree| subtree.contains(&rank))
        })
    }

    /// The highest of a subtree that are not `dead`: each has no living ancestor there.
    fn tops(&self, subtree: Range<usize>, dead: &Ranks, tops: &mut Ranks) {
        match dead.contains(subtree.start) {
            false => _ = tops.insert(subtree.start),
            true => self.below(&subtree).for_each(|below| self.tops(below, dead, tops)),
        }
    }

    /// The place of the living rank `me` among those that are not `dead`.
    pub fn place(&self, me: usize, dead: &Ranks) -> Place {
        let lowest = dead.lowest_missing();
        let (mut parent, mut own, mut children) = (None, 0..0, Ranks::new());
        for subtree in self.around(me) {
            if subtree.start == me {
                self.below(&subtree).for_each(|below| self.tops(below, dead, &mut children));
                own = subtree;
            } else if !dead.contains(subtree.start) {
                parent = Some(subtree.start);
            }
        }
        let mut below = Ranks::range(own);
        if me == lowest && me > 0 {
            self.tops(self.all(), dead, &mut children);
            children.subtract(&Ranks::range(me..me + 1));
            below = Ranks::range(self.all());
        }
        below.subtract(dead);
        let parent = parent.or((me != lowest).then_some(lowest));
        Place { tree: *self, me, parent, children, below }
    }
}

/// The place of a living rank in a tree of which some are dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub tree: Tree,
    pub me: usize,
    /// The nearest living ancestor, else the lowest living rank; `None` for that rank itself.
    pub parent: Option<usize>,
    /// Those whose parent this rank is.
    pub children: Ranks,
    /// The living that contribute by this rank, which is one of them.
    pub below: Ranks,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(size: usize, seed: usize) -> Ranks {
        // One rank lives at least.
        (0..size).filter(|rank| seed > 0 && *rank != seed % size && (rank * 7 + seed) % 5 < seed % 4).collect()
    }

    #[test]
    fn all_that_live_are_below_each_other_as_their_parents_say() {
        for (size, width) in [(1, 2), (2, 1), (5, 1), (7, 2), (16, 4), (64, 63), (65, 8), (200, 16), (200, 3)] {
            let tree = Tree { size, width };
            for seed in 0..40 {
                let dead = dead(size, seed);
                let living = || (0..size).filter(|rank| !dead.contains(*rank));
                let places: Vec<Place> = (0..size).map(|rank| tree.place(rank, &dead)).collect();
                let above = |rank| std::iter::successors(Some(rank), |&rank: &usize| places[rank].parent);
                for rank in living() {
                    let ancestors = tree.around(rank).map(|subtree| subtree.start);
                    let nearest = ancestors.filter(|other| *other != rank && !dead.contains(*other)).last();
                    let lowest = living().next().filter(|lowest| *lowest != rank);
                    assert_eq!(places[rank].parent, nearest.or(lowest), "{tree:?} {dead:?} {rank}");
                    let children: Ranks = living().filter(|&other| places[other].parent == Some(rank)).collect();
                    let below: Ranks = living().filter(|&other| above(other).any(|above| above == rank)).collect();
                    assert_eq!(places[rank].children, children, "{tree:?} {dead:?} {rank}");
                    assert_eq!(places[rank].below, below, "{tree:?} {dead:?} {rank}");
                    assert!(seed > 0 || children.iter().count() <= width);
                }
            }
        }
    }

    #[test]
    fn its_depth_grows_with_the_logarithm() {
        for (size, width, depth) in [(64, 63, 1), (73, 8, 2), (585, 8, 3), (273, 16, 2), (127, 2, 6)] {
            let deepest = (0..size).map(|rank| Tree { size, width }.around(rank).count() - 1).max();
            assert_eq!(deepest, Some(depth));
        }
    }
}
