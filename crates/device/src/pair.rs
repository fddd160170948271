//! What is known of a pair of processes: facts and costs, by which the layers above decide.

use crate::{Group, Pair, Times};

/// Facts of pairs. `peer` is never this process.
pub trait PairFacts {
    /// What this process and `peer` can do for each other, and at which lengths the ways between them cost as much.
    fn pair(&self, _peer: u32) -> Pair {
        Pair::default()
    }

    /// Whether `peer` waits in the library now, so that it takes the packets of a message of `len` bytes as they come. Asked where
    /// [`Pair::window`] has room for it.
    fn is_waiting(&self, _peer: u32, _len: usize) -> bool {
        false
    }

    /// How long a collective with a root takes by each of its ways. `members` are all of it, this process too. `None`: it goes over
    /// other devices as well, or nothing is known.
    fn times(&self, _members: &[u32], _group: &Group) -> Option<Times> {
        None
    }
}
