//! The collective calls of programs.

use tern_policy::collective::Collective;

/// What a program calls, as all members see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Call {
    Barrier = 1,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
    /// What makes communicators and other objects, and refuses wrong arguments before it begins.
    Make,
    /// MPI_Finalize, where all members of MPI_COMM_WORLD meet.
    Finalize,
}

/// By number, from 1 on.
pub(crate) const ALL: [Call; 24] = [
    Call::Barrier,
    Call::Bcast,
    Call::Gather,
    Call::Gatherv,
    Call::Scatter,
    Call::Scatterv,
    Call::Allgather,
    Call::Allgatherv,
    Call::Alltoall,
    Call::Alltoallv,
    Call::Alltoallw,
    Call::Reduce,
    Call::Allreduce,
    Call::ReduceScatter,
    Call::ReduceScatterBlock,
    Call::Scan,
    Call::Exscan,
    Call::NeighborAllgather,
    Call::NeighborAllgatherv,
    Call::NeighborAlltoall,
    Call::NeighborAlltoallv,
    Call::NeighborAlltoallw,
    Call::Make,
    Call::Finalize,
];

impl Call {
    /// The call of that number.
    pub(crate) fn numbered(number: u8) -> Option<Call> {
        ALL.get(usize::from(number).wrapping_sub(1)).copied()
    }

    /// The algorithms that may be chosen for it; `None`: there is one.
    pub fn chosen(self) -> Option<Collective> {
        Some(match self {
            Call::Barrier => Collective::Barrier,
            Call::Bcast => Collective::Bcast,
            Call::Gather | Call::Gatherv => Collective::Gather,
            Call::Scatter | Call::Scatterv => Collective::Scatter,
            Call::Allgather | Call::Allgatherv => Collective::Allgather,
            Call::Alltoall => Collective::Alltoall,
            Call::Alltoallv | Call::Alltoallw => Collective::Alltoallv,
            Call::Reduce => Collective::Reduce,
            Call::Allreduce => Collective::Allreduce,
            Call::ReduceScatter | Call::ReduceScatterBlock => Collective::ReduceScatter,
            Call::Scan | Call::Exscan => Collective::Scan,
            _ => return None,
        })
    }

    /// Whether the call of this number is one among neighbours.
    pub(crate) fn is_among_neighbours(number: u8) -> bool {
        (Call::NeighborAllgather as u8..=Call::NeighborAlltoallw as u8).contains(&number)
    }

    /// See [`Collective::has_levels`]; blocks of different lengths go in messages.
    pub fn has_levels(self) -> bool {
        self != Call::Allgatherv && self.chosen().is_some_and(Collective::has_levels)
    }
}
