//! Which cores stand how to each other.

use std::cell::{Cell, OnceCell};

use rustix::process::Pid;
use tern_node::topology::Neighbours;

use tern_policy::costs::Placement;

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
            return Placement::L3;
        };
        // A process number of another namespace finds nobody, or somebody else.
        self.note(peer, &tern_node::affinity_of(pid).unwrap_or_default())
    }

    /// Notes where `peer` is, which may run on these cores.
    fn note(&self, peer: usize, theirs: &[usize]) -> Placement {
        let (own, around) = self.own.get_or_init(|| {
            let own = tern_node::affinity();
            let around = own.first().map(|first| Neighbours::of(*first));
            (own, around.unwrap_or_default())
        });
        let known = widest(around, own.iter().chain(theirs));
        // Of a process that says nothing it is not known that it is so near.
        let placement = if theirs.is_empty() { known.max(Placement::L3) } else { known };
        self.peers[peer].set(Some(placement));
        placement
    }
}

/// The placements that some two of `cores` have.
pub fn placements(cores: &[usize]) -> Vec<Placement> {
    let pairs = pairs(cores).into_iter();
    pairs.map(|(placement, _)| placement).collect()
}

fn widest<'a>(around: &Neighbours, cores: impl Iterator<Item = &'a usize> + Clone) -> Placement {
    let within = |set: &[usize]| cores.clone().all(|core| set.contains(core));
    if within(&around.siblings) {
        Placement::Smt
    } else if within(&around.l2) {
        Placement::L2
    } else if around.cache.is_empty() || within(&around.cache) {
        Placement::L3
    } else if around.node.is_empty() || within(&around.node) {
        Placement::Numa
    } else {
        Placement::Machine
    }
}

/// For each placement that two of `cores` have, two such cores: the first one, and the nearest to
/// it by number.
pub(crate) fn pairs(cores: &[usize]) -> Vec<(Placement, [usize; 2])> {
    match cores.first() {
        Some(&first) => pairs_around(first, &Neighbours::of(first), cores),
        None => Vec::new(),
    }
}

fn pairs_around(first: usize, around: &Neighbours, cores: &[usize]) -> Vec<(Placement, [usize; 2])> {
    let partner = |placement: Placement| {
        let fits = |core: &&usize| **core != first && widest(around, [first, **core].iter()) == placement;
        cores.iter().find(fits).map(|core| (placement, [first, *core]))
    };
    Placement::ALL.into_iter().filter_map(partner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Core 0 of a machine with two sockets of eight cores and one NUMA node each. Two cores share a cache of level 2, four one of
    /// level 3, and threads 16 to 31 are the second ones of cores 0 to 15.
    fn around() -> Neighbours {
        let with_second = |cores: std::ops::Range<usize>| cores.clone().chain(cores.map(|core| core + 16)).collect();
        Neighbours {
            siblings: with_second(0..1),
            l2: with_second(0..2),
            cache: with_second(0..4),
            node: with_second(0..8),
            package: with_second(0..8),
        }
    }

    #[test]
    fn each_pair_has_the_class_of_what_it_shares() {
        let placement = |cores: &[usize]| widest(&around(), cores.iter());
        assert_eq!(placement(&[0, 16]), Placement::Smt);
        assert_eq!(placement(&[0, 1]), Placement::L2);
        assert_eq!(placement(&[0, 17]), Placement::L2);
        assert_eq!(placement(&[0, 3]), Placement::L3);
        assert_eq!(placement(&[0, 7]), Placement::Numa);
        assert_eq!(placement(&[0, 8]), Placement::Machine);
    }

    #[test]
    fn the_widest_counts() {
        let placement = |cores: &[usize]| widest(&around(), cores.iter());
        assert_eq!(placement(&[0]), Placement::Smt, "two that share one thread");
        assert_eq!(placement(&[0, 1, 2]), Placement::L3);
        assert_eq!(placement(&[0, 1, 2, 4]), Placement::Numa);
        assert_eq!(placement(&[0, 16, 31]), Placement::Machine);
        let nothing = Neighbours::default();
        assert_eq!(widest(&nothing, [0, 4].iter()), Placement::L3);
        let no_l2 = Neighbours { l2: Vec::new(), ..around() };
        assert_eq!(widest(&no_l2, [0, 1].iter()), Placement::L3);
    }

    #[test]
    fn a_pair_for_each_placement_there_is() {
        let all: Vec<usize> = (0..32).collect();
        let pairs = |cores: &[usize]| pairs_around(0, &around(), cores);
        let [smt, l2, l3, numa, machine] = Placement::ALL;
        assert_eq!(pairs(&all), [(smt, [0, 16]), (l2, [0, 1]), (l3, [0, 2]), (numa, [0, 4]), (machine, [0, 8])]);
        assert_eq!(pairs(&[0, 16, 17]), [(smt, [0, 16]), (l2, [0, 17])]);
        assert_eq!(pairs(&[0, 12]), [(machine, [0, 12])]);
        assert_eq!(pairs(&[0]), []);
    }

    #[test]
    fn a_near_and_a_far_peer_have_classes_of_their_own() {
        let own = (vec![0], around());
        let places = Places { own: OnceCell::from(own), peers: vec![Cell::new(None); 3] };
        assert_eq!(places.note(1, &[16]), Placement::Smt);
        assert_eq!(places.note(2, &[9]), Placement::Machine);
        assert_eq!(
            [1, 2].map(|peer| places.of(peer, || unreachable!("it is known"))),
            [Placement::Smt, Placement::Machine]
        );
    }

    #[test]
    fn a_peer_is_looked_for_once() {
        let places = Places::new(2);
        assert_eq!(places.of(1, || None), Placement::L3);
        let own = std::process::id() as i32;
        let found = places.of(1, || Some(own));
        let cores = tern_node::affinity();
        assert_eq!(found, widest(&Neighbours::of(cores[0]), cores.iter()));
        assert_eq!(places.of(1, || unreachable!("it is known")), found);
        // There is no process of that number.
        assert_eq!(places.of(0, || Some(i32::MAX)), found.max(Placement::L3));
    }
}
