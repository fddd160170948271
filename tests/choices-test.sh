#!/bin/sh
# Programs that send much, with absurd costs and thresholds: what Tern takes its costs to be, and from how many bytes on it copies once, may
# change how fast it is, never what it does. (mechanisms-test.sh forces the mechanisms.)
# Usage: tests/choices-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
some="p2p_order p2p_traffic p2p_modes p2p_cancel"
costs=$place/costs
mkdir "$costs"

# costs NAME EAGER PIPE CMA MAPPED: the same nanoseconds for every size.
costs() {
    {
        echo "tern-costs 5"
        echo "origin a test"
        for near in smt l2 l3 numa machine; do
            echo "$near packet 1"
            for warmth in warm cold; do
                for mover in eager pipe cma cma-push cma-both mapped mapped-push mapped-both; do
                    case $mover in
                        eager) ns=$2 ;;
                        pipe) ns=$3 ;;
                        cma*) ns=$4 ;;
                        mapped*) ns=$5 ;;
                    esac
                    echo "$near $mover $warmth 0:$ns 1:$ns"
                done
            done
        done
    } > "$costs/$1"
}
costs ring 0 0 1e12 1e12
costs cma 1e12 1e12 0 1e12
costs mapped 1e12 1e12 1e12 0
costs endless 1e300 1e300 1e300 1e300

export TERN_TEST_DIR="${TERN_TEST_DIR:-$here/../target/tests-c}"
programs="$some coll_region"
compiled
programs=$some
for file in "$costs"/*; do
    with TERN_COSTS="$file"
done
for from in 4k 64k 1g; do
    with TERN_SINGLE_COPY_FROM=$from
done
programs=coll_region
for from in 0 1g; do
    with TERN_COLL_SINGLE_COPY_FROM=$from
done

echo "-- a file of nonsense"
printf 'tern-costs 5\nl3 packet -1\n' > "$costs/nonsense"
evidence=$place/log
wanted="TERN_COSTS: $costs/nonsense: line 2: \"-1\" is not a time in nanoseconds; using default"
if ! TERN_COSTS="$costs/nonsense" TERN_EXPLAIN=1 "$prefix/bin/mpiexec" -n 2 "$TERN_TEST_DIR/p2p_order" > "$evidence" 2>&1; then
    fail "a job with a file of nonsense"
elif [ "$(grep -c -F "$wanted" "$evidence")" -ne 1 ] || ! grep -q '^Costs: figures of another' "$evidence"; then
    fail "a file of nonsense is told once"
else
    ok "a file of nonsense is told once"
fi

echo "-- what was taken, and why"
TERN_TEST_STEP=compile "$here/run.sh" "$prefix" env_used
wrong=
TERN_EXPLAIN=used TERN_COSTS=default "$prefix/bin/mpiexec" -n 3 "$TERN_TEST_DIR/env_used" > "$evidence" 2>&1 ||
    wrong="exit code $?"
while read -r line; do
    grep -q -e "$line" "$evidence" || wrong="no line matches: $line"
done << 'LINES'
^tern: ways that were taken by 3 processes (TERN_EXPLAIN=used)$
^MPI_Bcast, 3 processes.*:$
< 128 KiB  *[0-9]* x  .*, since
^receive, .*:$
< 32 KiB  *1 x  left unpublished, since it has a wildcard (by default)$
< 32 KiB  *1 x  published later, if it still waits then, since an older receive that is not published could take its message (by default)$
^send, .*:$
< 512 B  *1 x  packets at once, since it is too short for another way (by default)$
LINES
# Each row of these operations names who has made the choice: a rule, the costs with a mechanism, a setting, or nobody.
makers() {
    awk '/^[A-Za-z]/ { on = /^(send|receive|put|get|accumulate|MPI_)/ }
        on && / x  / && !/ \((rule [a-z-]+|by costs: [a-z ]+|nearest way: [a-z ]+|TERN_[A-Z_a-z ]+|by default)\)$/ { print "nobody is named: " $0 }' "$1"
}
unnamed=$(makers "$evidence")
[ -z "$unnamed" ] || wrong=$unnamed
# Five at each of three processes, whatever their reasons are.
broadcasts=$(awk '/^[A-Za-z]/ { on = /^MPI_Bcast,/ } on && /< 128 KiB / { sum += $4 } END { print sum + 0 }' "$evidence")
[ "$broadcasts" = 15 ] || wrong="$broadcasts broadcasts in place of 15"
if [ -z "$wrong" ]; then ok "the ways that were taken are told"; else fail "the ways that were taken are told" "$wrong"; fi

echo "-- how one-sided accesses were made, and why"
TERN_TEST_STEP=compile "$here/run.sh" "$prefix" env_used_rma
wrong=
TERN_EXPLAIN=used TERN_COSTS=default "$prefix/bin/mpiexec" -n 2 "$TERN_TEST_DIR/env_used_rma" > "$evidence" 2>&1 ||
    wrong="exit code $?"
while read -r line; do
    grep -q -e "$line" "$evidence" || wrong="no line matches: $line"
done << 'LINES'
^put, .*:$
< 16 B  *3 x  loads and stores, since the memory is mapped here (nearest way: mapped)$
< 8 KiB  *1 x  loads and stores, since the memory is mapped here (nearest way: mapped)$
^get, to itself:$
^accumulate, .*:$
< 64 B  *1 x  combined where it is mapped, since
LINES
unnamed=$(makers "$evidence")
[ -z "$unnamed" ] || wrong=$unnamed
if [ -z "$wrong" ]; then ok "the ways of accesses are told"; else fail "the ways of accesses are told" "$wrong"; fi
sums
