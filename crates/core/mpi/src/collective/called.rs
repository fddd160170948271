//! Which collective a function is, by its name.

use tern_coll::CallKind;
use tern_coll::lines::refusal::Call;

const NAMES: [(&str, Call); 33] = [
    ("barrier", Call::Barrier),
    ("bcast", Call::Bcast),
    ("gather", Call::Gather),
    ("gatherv", Call::Gatherv),
    ("scatter", Call::Scatter),
    ("scatterv", Call::Scatterv),
    ("allgather", Call::Allgather),
    ("allgatherv", Call::Allgatherv),
    ("alltoall", Call::Alltoall),
    ("alltoallv", Call::Alltoallv),
    ("alltoallw", Call::Alltoallw),
    ("reduce", Call::Reduce),
    ("allreduce", Call::Allreduce),
    ("reduce_scatter", Call::ReduceScatter),
    ("reduce_scatter_block", Call::ReduceScatterBlock),
    ("scan", Call::Scan),
    ("exscan", Call::Exscan),
    ("neighbor_allgather", Call::NeighborAllgather),
    ("neighbor_allgatherv", Call::NeighborAllgatherv),
    ("neighbor_alltoall", Call::NeighborAlltoall),
    ("neighbor_alltoallv", Call::NeighborAlltoallv),
    ("neighbor_alltoallw", Call::NeighborAlltoallw),
    ("comm_dup", Call::Make),
    ("comm_dup_with_info", Call::Make),
    ("comm_split", Call::Make),
    ("comm_split_type", Call::Make),
    ("comm_create", Call::Make),
    ("cart_create", Call::Make),
    ("cart_sub", Call::Make),
    ("graph_create", Call::Make),
    ("dist_graph_create", Call::Make),
    ("dist_graph_create_adjacent", Call::Make),
    ("win_create_dynamic", Call::Make),
];

/// The name of the function of a call: "MPI_Reduce_scatter".
pub(super) fn name(call: Call) -> String {
    let known = NAMES.iter().find(|&&(_, known)| known == call);
    let mut name = known.map_or("collective", |(name, _)| name).to_owned();
    name[..1].make_ascii_uppercase();
    format!("MPI_{name}")
}

/// The call of an MPI function, if it is a collective that is no persistent one: "MPI_Gather", "MPI_Igather_c".
pub(super) fn called(function: &str) -> Option<(Call, CallKind)> {
    let name = function.to_ascii_lowercase();
    let name = name.strip_prefix("mpi_")?;
    let name = name.strip_suffix("_c").unwrap_or(name);
    let call = |name: &str| NAMES.iter().find(|(known, _)| *known == name).map(|&(_, call)| call);
    let nonblocking = || name.strip_prefix('i').and_then(call).map(|call| (call, CallKind::Nonblocking));
    call(name).map(|call| (call, CallKind::Blocking)).or_else(nonblocking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_functions() {
        assert_eq!(called("MPI_Gather"), Some((Call::Gather, CallKind::Blocking)));
        assert_eq!(called("MPI_Reduce_scatter_block_c"), Some((Call::ReduceScatterBlock, CallKind::Blocking)));
        assert_eq!(called("MPI_Igather"), Some((Call::Gather, CallKind::Nonblocking)));
        assert_eq!(called("MPI_Send"), None);
        assert_eq!(called("MPI_Gather_init"), None);
        assert_eq!(called("MPI_Comm_split"), Some((Call::Make, CallKind::Blocking)));
    }
}
