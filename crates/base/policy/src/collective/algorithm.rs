//! Which algorithm the messages of a collective take, by costs alone.

use super::names::{Algorithm, Collective};

/// What the choice of an algorithm may depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Processes in the group.
    pub processes: usize,
    /// bcast, reduce, allreduce, scan: the vector. gather, scatter, alltoall: one block.
    /// allgather: the blocks of all together. reduce_scatter: the whole input vector.
    /// barrier, alltoallv: 0.
    pub bytes: usize,
    /// Whether operands may change places; true where nothing is reduced.
    pub commutative: bool,
    /// All are on one node, and are more than it has cores.
    pub crowded: bool,
    /// They exchange with a second group: nothing goes by regions.
    pub two_groups: bool,
}

/// Up to here a broadcast is bound by the number of messages on the way; above, cutting it into
/// segments keeps several processes copying at once, from data that is still in the cache.
const BCAST_WHOLE: usize = 256 << 10;
/// With so many processes the line of a chain takes longer to fill than a scatter.
const BCAST_CHAIN_PROCESSES: usize = 16;
/// A gather or scatter tree copies a block once for each level: good while a message costs more
/// than the copy.
const GATHER_TREE_BLOCK: usize = 2 << 10;
/// In all, an allgather moves the same bytes whatever the algorithm; the ring needs no temporary
/// and touches each block once, the others need fewer rounds.
const ALLGATHER_ROUNDS: usize = 64 << 10;
/// Bruck's alltoall sends each block log2(p)/2 times on average, with two copies each.
const ALLTOALL_BRUCK_BLOCK: usize = 256;
const ALLTOALL_BRUCK_PROCESSES: usize = 8;
/// Above, one partner at a time: the blocks under way fit the cache.
const ALLTOALL_AT_ONCE_BLOCK: usize = 64 << 10;
/// A tree sends the whole vector at each level; Rabenseifner's sends it twice in all, in twice
/// the rounds.
const REDUCE_TREE: usize = 32 << 10;
const ALLREDUCE_DOUBLING: usize = 16 << 10;
/// The ring needs 2(p-1) rounds, but its pieces are 1/p of the vector throughout, which stay in
/// the cache between the receive and the reduction.
const ALLREDUCE_RING: usize = 4 << 20;
/// Halving takes log2(p) rounds, one partner after another p-1 rounds with no byte sent twice.
const REDUCE_SCATTER_HALVING: usize = 256 << 10;

/// The algorithm for `collective`, from costs alone. Every choice is one that [`fits`].
pub fn choose(collective: Collective, messages: Messages) -> Algorithm {
    use Algorithm::*;
    let Messages { processes, bytes, commutative, .. } = messages;
    match collective {
        Collective::Barrier => Dissemination,
        Collective::Bcast if processes <= 2 || bytes <= BCAST_WHOLE => Binomial,
        Collective::Bcast if processes < BCAST_CHAIN_PROCESSES => Chain,
        Collective::Bcast => ScatterAllgather,
        Collective::Gather | Collective::Scatter => {
            if bytes <= GATHER_TREE_BLOCK {
                Binomial
            } else {
                Linear
            }
        }
        Collective::Allgather if bytes > ALLGATHER_ROUNDS || processes <= 2 => Ring,
        Collective::Allgather if processes.is_power_of_two() => RecursiveDoubling,
        Collective::Allgather => Bruck,
        Collective::Alltoall if bytes <= ALLTOALL_BRUCK_BLOCK && processes >= ALLTOALL_BRUCK_PROCESSES => Bruck,
        Collective::Alltoall if bytes <= ALLTOALL_AT_ONCE_BLOCK => Linear,
        Collective::Alltoall => Pairwise,
        // Members do not know each other's counts.
        Collective::Alltoallv => Linear,
        Collective::Reduce if bytes <= REDUCE_TREE || processes <= 2 => Binomial,
        Collective::Reduce => Rabenseifner,
        Collective::Allreduce if bytes <= ALLREDUCE_DOUBLING => RecursiveDoubling,
        Collective::Allreduce if bytes > ALLREDUCE_RING && processes > 2 && commutative => Ring,
        Collective::Allreduce => Rabenseifner,
        Collective::ReduceScatter if !commutative => Linear,
        Collective::ReduceScatter if bytes <= REDUCE_SCATTER_HALVING => RecursiveHalving,
        Collective::ReduceScatter => Pairwise,
        Collective::Scan => RecursiveDoubling,
    }
}

/// Whether `algorithm` can do `collective` among such messages.
pub fn fits(collective: Collective, algorithm: Algorithm, messages: Messages) -> bool {
    use Algorithm::*;
    match collective {
        Collective::Barrier => matches!(algorithm, Dissemination | Binomial),
        Collective::Bcast => matches!(algorithm, Binomial | ScatterAllgather | Chain),
        Collective::Gather | Collective::Scatter => matches!(algorithm, Binomial | Linear),
        Collective::Allgather => match algorithm {
            RecursiveDoubling => messages.processes.is_power_of_two(),
            other => matches!(other, Bruck | Ring),
        },
        Collective::Alltoall => matches!(algorithm, Bruck | Pairwise | Linear),
        Collective::Alltoallv => matches!(algorithm, Pairwise | Linear),
        Collective::Reduce => matches!(algorithm, Binomial | Rabenseifner),
        Collective::Allreduce => match algorithm {
            Ring => messages.commutative,
            other => matches!(other, RecursiveDoubling | Rabenseifner),
        },
        Collective::ReduceScatter => match algorithm {
            RecursiveHalving | Pairwise => messages.commutative,
            other => other == Linear,
        },
        Collective::Scan => algorithm == RecursiveDoubling,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Messages> {
        (1..=40).flat_map(|processes| {
            (0..28).flat_map(move |power| {
                [true, false].map(|commutative| Messages {
                    processes,
                    bytes: 1 << power,
                    commutative,
                    ..Messages::default()
                })
            })
        })
    }

    #[test]
    fn every_choice_can_do_the_job() {
        for messages in all() {
            for &collective in Collective::ALL {
                let algorithm = choose(collective, messages);
                assert!(fits(collective, algorithm, messages), "{collective} {algorithm} {messages:?}");
            }
        }
    }
}
