#!/bin/sh
# Programs that send much, with absurd costs and thresholds: what Tern takes its costs to be, and from how many bytes on it copies once, may
# change how fast it is, never what it does. (mechanisms-test.sh forces the mechanisms.)
# Usage: tests/choices-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
some="p2p_order p2p_traffic p2p_modes p2p_cancel"
costs=$(mktemp -d)
trap 'rm -rf "$costs"' EXIT
failed=0

# costs NAME EAGER PIPE CMA MAPPED: the same nanoseconds for every size.
costs() {
    {
        echo "tern-costs 4"
        echo "origin a test"
        for place in smt l2 l3 numa machine; do
            echo "$place packet 1"
            for warmth in warm cold; do
                for mover in eager pipe cma cma-push cma-both mapped mapped-push mapped-both; do
                    case $mover in
                        eager) ns=$2 ;;
                        pipe) ns=$3 ;;
                        cma*) ns=$4 ;;
                        mapped*) ns=$5 ;;
                    esac
                    echo "$place $mover $warmth 0:$ns 1:$ns"
                done
            done
        done
    } > "$costs/$1"
}
costs ring 0 0 1e12 1e12
costs cma 1e12 1e12 0 1e12
costs mapped 1e12 1e12 1e12 0
costs endless 1e300 1e300 1e300 1e300

# with VARIABLE VALUE PROGRAM...
with() {
    echo "-- $1=$2"
    setting=$1=$2
    shift 2
    env "$setting" TERN_TEST_STEP=run "$here/run.sh" "$prefix" "$@" || failed=1
}
# They are compiled once.
export TERN_TEST_DIR="${TERN_TEST_DIR:-$here/../target/tests-c}"
# shellcheck disable=SC2086
TERN_TEST_STEP=compile "$here/run.sh" "$prefix" $some coll_region
for file in "$costs"/*; do
    # shellcheck disable=SC2086
    with TERN_COSTS "$file" $some
done
for from in 4k 64k 1g; do
    # shellcheck disable=SC2086
    with TERN_SINGLE_COPY_FROM $from $some
done
for from in 0 1g; do
    with TERN_COLL_SINGLE_COPY_FROM $from coll_region
done

echo "-- a file of nonsense"
printf 'tern-costs 4\nl3 packet -1\n' > "$costs/nonsense"
TERN_COSTS="$costs/nonsense" TERN_EXPLAIN=1 "$prefix/bin/mpiexec" -n 2 \
    "$TERN_TEST_DIR/p2p_order" > "$costs/log" 2>&1 || failed=1
wanted="TERN_COSTS: $costs/nonsense: line 2: \"-1\" is not a time in nanoseconds; using default"
if [ "$(grep -c -F "$wanted" "$costs/log")" -eq 1 ] && grep -q '^Costs: figures of another' "$costs/log"; then
    echo "1 passed, 0 failed, 0 skipped"
else
    cat "$costs/log"
    echo "0 passed, 1 failed, 0 skipped"
    failed=1
fi

echo "-- what was taken, and why"
TERN_TEST_STEP=compile "$here/run.sh" "$prefix" env_used
wrong=
TERN_EXPLAIN=used TERN_COSTS=default "$prefix/bin/mpiexec" -n 3 "$TERN_TEST_DIR/env_used" > "$costs/log" 2>&1 || wrong="exit code $?"
while read -r line; do
    grep -q -e "$line" "$costs/log" || wrong="no line matches: $line"
done << 'LINES'
^tern: ways that were taken by 3 processes (TERN_EXPLAIN=used)$
^MPI_Bcast, 3 processes.*:$
< 128 KiB  *15 x  .*, since 
^send, .*:$
< 512 B  *1 x  packets at once, since it is too short for another way$
LINES
if [ -z "$wrong" ]; then
    echo "1 passed, 0 failed, 0 skipped"
else
    cat "$costs/log"
    echo "FAIL TERN_EXPLAIN=used: $wrong"
    echo "0 passed, 1 failed, 0 skipped"
    failed=1
fi
exit "$failed"
