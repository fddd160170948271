//! Which cores stand how to each other.

use std::cell::{Cell, OnceCell};

use rustix::process::Pid;
use tern_node::topology::Neighbours;

use crate::Placement;

/// Where the peers of this process are, each looked for at the first question.
pub struct Places {
    own: OnceCell<(Vec<usize>, Neighbours)>,
    peers: Vec<Cell<Option<Placement>>>,
}

impl Places {
    /// For so many peers.
    pub fn new(peers: usize) -> Places {
        Places { own: OnceCell::new(), peers: vec![Cell::new(None); peers] }
    }

    /// Where `peer` is: the widest that its affinity and that of this process allow. `pid` is its
    /// process number, if known; while it is not, the two are taken to share a cache. Processes
    /// that are bound to other cores later are not followed.
    #[inline]
    pub fn of(&self, peer: usize, pid: impl FnOnce() -> Option<i32>) -> Placement {
        match self.peers[peer].get() {
            Some(placement) => placement,
            None => self.find(peer, pid()),
        }
    }

    #[cold]
    fn find(&self, peer: usize, pid: Option<i32>) -> Placement {
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            return Placement::Cache;
        };
        let (own, around) = self.own.get_or_init(|| {
            let own = tern_node::affinity();
            let around = own.first().map(|first| Neighbours::of(*first));
            (own, around.unwrap_or_default())
        });
        // A process number of another namespace finds nobody, or somebody else.
        let theirs = tern_node::affinity_of(pid).unwrap_or_default();
        let placement = widest(around, own.iter().chain(&theirs));
        self.peers[peer].set(Some(placement));
        placement
    }
}

/// The placements that some two of `cores` have.
pub fn placements(cores: &[usize]) -> Vec<Placement> {
    let pairs = pairs(cores).into_iter();
    pairs.map(|(placement, _)| placement).collect()
}

fn widest<'a>(around: &Neighbours, mut cores: impl Iterator<Item = &'a usize> + Clone) -> Placement {
    let within = |set: &[usize]| set.is_empty() || cores.clone().all(|core| set.contains(core));
    if within(&around.cache) {
        Placement::Cache
    } else if cores.all(|core| around.node.is_empty() || around.node.contains(core)) {
        Placement::Node
    } else {
        Placement::Machine
    }
}

/// For each placement that two of `cores` have, two such cores: the first one, and the nearest to
/// it by number, threads of one processor core only if there is nothing else.
pub(crate) fn pairs(cores: &[usize]) -> Vec<(Placement, [usize; 2])> {
    match cores.first() {
        Some(&first) => pairs_around(first, &Neighbours::of(first), cores),
        None => Vec::new(),
    }
}

fn pairs_around(first: usize, around: &Neighbours, cores: &[usize]) -> Vec<(Placement, [usize; 2])> {
    let partner = |placement: Placement| {
        let fits = |core: &&usize| **core != first && widest(around, [first, **core].iter()) == placement;
        let fitting = || cores.iter().filter(fits);
        fitting()
            .find(|core| !around.siblings.contains(core))
            .or_else(|| fitting().next())
            .map(|core| (placement, [first, *core]))
    };
    Placement::ALL.into_iter().filter_map(partner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Core 0 of a machine with two nodes of eight threads, two caches in each, and threads 8 to
    /// 15 the second ones of cores 0 to 7.
    fn around() -> Neighbours {
        Neighbours { siblings: vec![0, 8], cache: vec![0, 1, 8, 9], node: vec![0, 1, 2, 3, 8, 9, 10, 11] }
    }

    #[test]
    fn the_widest_counts() {
        let placement = |cores: &[usize]| widest(&around(), cores.iter());
        assert_eq!(placement(&[0, 9]), Placement::Cache);
        assert_eq!(placement(&[0, 1, 2]), Placement::Node);
        assert_eq!(placement(&[0, 1, 2, 4]), Placement::Machine);
        let nothing = Neighbours::default();
        assert_eq!(widest(&nothing, [0, 4].iter()), Placement::Cache);
    }

    #[test]
    fn a_pair_for_each_placement_there_is() {
        let all: Vec<usize> = (0..16).collect();
        let pairs = |cores: &[usize]| pairs_around(0, &around(), cores);
        assert_eq!(pairs(&all), [(Placement::Cache, [0, 1]), (Placement::Node, [0, 2]), (Placement::Machine, [0, 4])]);
        assert_eq!(pairs(&[0, 8, 9]), [(Placement::Cache, [0, 9])]);
        assert_eq!(pairs(&[0, 8, 12]), [(Placement::Cache, [0, 8]), (Placement::Machine, [0, 12])]);
        assert_eq!(pairs(&[0]), []);
    }

    #[test]
    fn a_peer_is_looked_for_once() {
        let places = Places::new(2);
        assert_eq!(places.of(1, || None), Placement::Cache);
        let own = std::process::id() as i32;
        let found = places.of(1, || Some(own));
        let cores = tern_node::affinity();
        assert_eq!(found, widest(&Neighbours::of(cores[0]), cores.iter()));
        assert_eq!(places.of(1, || unreachable!("it is known")), found);
        // There is no process of that number.
        assert_eq!(places.of(0, || Some(i32::MAX)), found);
    }
}
