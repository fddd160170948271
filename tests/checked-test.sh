#!/bin/sh
# TERN_CHECK leaves right programs alone: C programs under tests/c run as they do without it, and nothing is said, on one node, on two, and
# with the interfaces of MPICH and Open MPI. Notes may be, of what the standard permits and advises against (MPI_Request_free of an active
# request: p2p_modes, request_turns). What it says of wrong programs is in check-test.sh.
# Usage: tests/checked-test.sh PREFIX
#   TERN_TEST_CHECKED=all   every C program that is right, at up to 4 ranks, and not only a selection at up to 2
#   TERN_FACES              which other interfaces, where their mpi.h can be had [mpich openmpi]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

# Why something is said of a program, or it does not run as without: REASON for a program that is not for this test.
reason() {
    case $1 in
    *_errors | *_refused | *_refused_* | *_fatal | p2p_abort | abort_at_exit | p2p_unsafe | coll_apart | errhandler_ended | errhandler_explained) echo "is wrong on purpose" ;;
    comm_nodes | p2p_ahead | p2p_by_kernel | p2p_flood | p2p_persistent | p2p_there | tool_events | tool_threads) echo "relies on sends that do not wait" ;;
    rma_nocheck) echo "relies on fences that do not wait" ;;
    rma_windows) echo "leaves a window" ;;
    attr_comm | dyn_end | dyn_lost | dyn_lost_file | dyn_many | session_many) echo "leaves communicators" ;;
    rma_dynamic) echo "has the results of many accesses written to the same memory" ;;
    rma_put_get) echo "polls memory by MPI_Get while others put" ;;
    rma_pieces | rma_random) echo "locks a window between fences that may begin an epoch" ;;
    coll_forced | env_* | tool_counters | tool_stats*) echo "is about ways and figures, which are others then" ;;
    memory_random*) echo "is about memory that is promoted, which nothing is then" ;;
    memory_*) echo "is about limits, which copies of the memory under way exceed" ;;
    p2p_columns | p2p_large | p2p_poll | p2p_published* | p2p_reuse | p2p_segments | p2p_speculative | p2p_told | rma_again | rma_fork* | \
        rma_large | thread_fork) echo "has so much under way that copies of it take minutes" ;;
    esac
}

# Programs that take a moment each.
programs="abi_plain abi_rest attr_finalize attr_session coll_inter coll_intra coll_neighbor coll_overlap coll_roots coll_types comm_create comm_free
    comm_inter comm_session dyn_exchange dyn_hints dyn_ports dyn_sets dyn_spawn errhandler_given errhandler_user file_access file_atomic
    file_collective file_open file_shared file_view group_sets info_keys op_user p2p_buffered p2p_cancel p2p_complete p2p_generalized p2p_modes p2p_order
    p2p_partitioned p2p_probe p2p_sendrecv request_turns rma_requests topo_cart topo_graph type_construct type_elements"
nodes="coll_intra comm_inter dyn_spawn file_collective p2p_complete p2p_order p2p_sendrecv request_turns rma_requests"
faces="coll_intra comm_create file_view p2p_complete p2p_generalized p2p_probe request_turns rma_requests type_construct"
most=2
if [ "${TERN_TEST_CHECKED:-}" = all ]; then
    programs=
    for source in "$here"/c/*.c; do
        name=${source##*/}
        name=${name%.c}
        why=$(reason "$name")
        if [ -n "$why" ]; then
            skip "$name" "$why"
        else
            programs="$programs $name"
        fi
    done
    nodes=$programs most=4
fi

export TERN_TEST_DIR="$place/programs" TERN_TEST_MOST_RANKS=$most
compiled
with TERN_CHECK=1 TERN_TEST_WARNINGS=0
programs=$nodes
with TERN_CHECK=1 TERN_TEST_WARNINGS=0 TERN_TEST_NODES=2
unset TERN_TEST_DIR TERN_TEST_MOST_RANKS
echo "-- with other interfaces"
# shellcheck disable=SC2086
TERN_CHECK=1 TERN_TEST_WARNINGS=0 "$here/faces-test.sh" "$prefix" $faces > "$place/said" 2>&1 || true
grep -v '^ok ' "$place/said" | sed '$d'
add
sums
