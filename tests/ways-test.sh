#!/bin/sh
# Each way of a collective, forced by TERN_COLL: it is taken, as TERN_EXPLAIN=used tells with the reason, and results are right, also at random. A name
# that is wrong is told with those that would be right.
# Usage: tests/ways-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
export TERN_TEST_DIR="$place/programs"
programs="coll_ways coll_region coll_intra coll_roots coll_vector coll_errors coll_mixed"
compiled
evidence=$place/log

# run NODES COLL: coll_ways among four ranks, with these ways forced.
run() {
    TERN_COLL=$2 TERN_EXPLAIN=used TERN_COSTS=default "$prefix/bin/mpiexec" --nodes "$1" -n 4 "$TERN_TEST_DIR/coll_ways" > "$evidence" 2>&1
}

# is_told OPERATION WAY: whether some calls of it went so, since it is asked for (TERN_COLL).
is_told() {
    awk -v operation="$1," -v way="  $2, since it is asked for (TERN_COLL)" '
        /^MPI_/ { here = index(tolower($0), "mpi_" operation) == 1 || index(tolower($0), "mpi_" substr(operation, 1, length(operation) - 1) "_block,") == 1 }
        here && index($0, way) { found = 1 }
        END { exit !found }' "$evidence"
}

# force NODES NAME WAY OPERATION...: that way of these operations, which is NAME in TERN_COLL.
force() {
    nodes=$1 name=$2 way=$3
    shift 3
    asked=
    for operation; do asked=$asked,$operation=$name; done
    wrong=
    run "$nodes" "$asked" || wrong="exit code $?"
    for operation; do
        is_told "$operation" "$way" || wrong="$wrong $operation does not go so"
    done
    if [ -z "$wrong" ]; then ok "$name: $*"; else fail "$name" "$wrong"; fi
}

force 1 lines "control lines in shared memory" barrier bcast gather scatter allgather alltoall reduce allreduce reduce_scatter scan
force 1 region "one region of the root's memory" bcast gather scatter
force 1 tree "control lines along a tree of caches, NUMA nodes and packages" barrier bcast reduce allreduce allgather
force 1 in_place "members read each other's memory in place" allgather alltoall allreduce reduce_scatter
force 1 shares "each member combines a share, in place" reduce scan
force 2 levels "two levels: one leader for each node" barrier bcast allgather reduce allreduce
for nodes in 1 2; do
    force "$nodes" binomial "messages, binomial" barrier bcast gather scatter reduce
    force "$nodes" ring "messages, ring" allgather allreduce
    force "$nodes" linear "messages, linear" gather scatter alltoall reduce_scatter
    force "$nodes" pairwise "messages, pairwise" alltoall reduce_scatter
    force "$nodes" recursive_doubling "messages, recursive_doubling" allgather allreduce scan
    force "$nodes" bruck "messages, bruck" allgather alltoall
    force "$nodes" rabenseifner "messages, rabenseifner" reduce allreduce
    force "$nodes" chain "messages, chain" bcast
done

echo "-- without a forced way"
wrong=
run 1 "" || wrong="exit code $?"
grep -q 'since it is the way by size and members' "$evidence" || wrong="$wrong no way by size and members"
grep -q '(rule read-in-place)' "$evidence" || wrong="$wrong no way by a rule"
! grep -q "(TERN_COLL)" "$evidence" || wrong="$wrong something is forced"
if [ -z "$wrong" ]; then ok "reasons without a forced way"; else fail "reasons without a forced way" "$wrong"; fi

echo "-- a root that tells of no region"
# Memory of malloc that nobody maps: one broadcast, of which all three members tell the ground that only the root has found.
wrong=
TERN_MECHANISM=mapped TERN_PROMOTE=off TERN_EXPLAIN=used TERN_COSTS=default "$prefix/bin/mpiexec" -n 3 "$TERN_TEST_DIR/coll_intra" > "$evidence" 2>&1 ||
    wrong="exit code $?"
sed -n '/^MPI_Bcast,/,/^MPI_[^B]/p' "$evidence" |
    grep -q ' 3 x  control lines in shared memory, since the others do not reach its root.s memory as one region' || wrong="$wrong not told by all"
if [ -z "$wrong" ]; then ok "why a root tells of no region"; else fail "why a root tells of no region" "$wrong"; fi

echo "-- a wrong name"
wrong=
run 1 "bcast=in_place" || wrong="exit code $?"
wanted='TERN_COLL: "bcast=in_place" is not one of: binomial, scatter_allgather, chain, region, lines, tree, levels'
grep -q -F "$wanted" "$evidence" || wrong="$wrong it is not told"
if [ -z "$wrong" ]; then ok "a wrong name is told"; else fail "a wrong name is told" "$wrong"; fi

echo "-- TERN_EXPLAIN=1"
wrong=
TERN_COLL=allreduce=in_place TERN_EXPLAIN=1 TERN_COSTS=default "$prefix/bin/mpiexec" -n 4 "$TERN_TEST_DIR/coll_ways" > "$evidence" 2>&1 || wrong="exit code $?"
grep -q '^  bcast  *lines, lines, lines, region or lines, region or lines$' "$evidence" || wrong="$wrong no ways of a broadcast"
grep -q '^  allreduce  *lines, lines, lines, in_place or lines, in_place or lines (forced)$' "$evidence" || wrong="$wrong no forced ways"
if [ -z "$wrong" ]; then ok "the ways are listed at the start"; else fail "the ways are listed at the start" "$wrong"; fi

programs="coll_region coll_intra"
lines=barrier=lines,bcast=lines,gather=lines,scatter=lines,allgather=lines,alltoall=lines
lines=$lines,reduce=lines,allreduce=lines,reduce_scatter=lines,scan=lines
with TERN_COLL=$lines
read=allgather=in_place,alltoall=in_place,allreduce=in_place,reduce_scatter=in_place,reduce=shares,scan=shares
with TERN_COLL=$read
with TERN_COLL=$read TERN_PROMOTE=always
trees=barrier=tree,bcast=tree,reduce=tree,allreduce=tree,allgather=tree
programs="coll_intra coll_roots coll_vector coll_errors coll_mixed"
with TERN_COLL=$trees

echo "-- members of a large node"
# Two packages of two caches of four cores: each member is bound to a core of that machine, and the tree has three levels.
"$prefix/bin/tern-info" --make-topology 2x1x2x4x1 "$place/machine" > /dev/null
for program in coll_intra coll_ways coll_mixed; do
    for ranks in 16 9; do
        label="$program, $ranks ranks bound on a large node"
        code=0
        TERN_TOPOLOGY=$place/machine TERN_COLL=$trees TERN_EXPLAIN=used timeout 300 "$prefix/bin/mpiexec" --bind-to core -n "$ranks" \
            "$TERN_TEST_DIR/$program" > "$evidence" 2>&1 || code=$?
        if [ "$code" -eq 0 ] && grep -q "control lines along a tree" "$evidence"; then ok "$label"; else fail "$label" "exit code $code"; fi
    done
done

programs=coll_intra
with TERN_COLL=barrier=levels,bcast=levels,allgather=levels,reduce=levels,allreduce=levels TERN_TEST_NODES=2

sums
