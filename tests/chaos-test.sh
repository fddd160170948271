#!/bin/sh
# Chaos by seed (TERN_CHAOS): C programs while their processes stop, are refused what may be refused, and get what has come in another order; on one
# node, on simulated ones over the software card and over TCP; and jobs that go on while ranks die at events of their own.
# Usage: tests/chaos-test.sh PREFIX [SEEDS]
# SEEDS: how many seeds each of these takes, 1 unless told; `make check-deep` takes 40.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [SEEDS]"}" && pwd)
seeds=${2:-1}
. "$here/common.sh"
make_place
export TERN_TEST_DIR="$place/programs" TERN_TEST_MOST_RANKS=4 TERN_TEST_ONCE=yes TERN_TEST_PATIENCE=3
for program in survive kills; do
    "$prefix/bin/mpicc" -std=gnu11 -O1 -o "$place/$program" "$here/ft/$program.c"
done

# job ARGUMENT...: runs mpiexec; leaves its exit code in `code`, and what was said in $place/said.
job() {
    code=0
    within 90 "$prefix/bin/mpiexec" "$@" < /dev/null > "$place/said" 2>&1 || code=$?
    evidence=$place/said
}

# What the setting may be, and what is said of it.
job -n 2 -x TERN_CHAOS=7,fire=1/2 "$place/kills" 1 0
label="a wrong part is named"
if [ "$code" -ne 0 ] && grep -q "'fire=1/2' is no part of TERN_CHAOS" "$place/said"; then ok "$label"; else fail "$label" "exit code $code"; fi
job -n 2 -x TERN_CHAOS=7,kill=1@5 "$place/kills" 1 0
label="rank 0 says that chaos is on, and who dies says at which event"
if [ "$code" -eq 137 ] && [ "$(grep -c 'tern\[0\]: note: chaos is on, by TERN_CHAOS=7,kill=1@5$' "$place/said")" -eq 1 ] &&
    grep -q 'tern\[1\]: note: chaos: dies at event 5, as it .*: kill=1@5$' "$place/said"; then
    ok "$label"
else
    fail "$label" "exit code $code"
fi

# Each way has those that say most of it; over TCP nothing is published.
messages="p2p_order p2p_probe p2p_cancel p2p_modes"
others="coll_mixed rma_requests rma_swap"
programs="$messages $others p2p_published"
compiled
seed=0
while [ "$seed" -lt "$seeds" ]; do
    seed=$((seed + 1))
    programs="$messages $others p2p_published"
    TERN_TEST_NODES=1 with TERN_CHAOS=$seed
    # A collective goes by messages, as it does where ranks may be lost.
    programs="p2p_order p2p_published coll_mixed"
    TERN_TEST_NODES=1 with TERN_CHAOS=$seed,refuse=1/2,reorder=1/2 TERN_COLL_LINES=off
    programs="$messages rma_requests p2p_published"
    TERN_TEST_NODES=2 with TERN_CHAOS=$seed
    programs="p2p_order p2p_modes coll_mixed"
    TERN_TEST_NODES=2 with TERN_CHAOS=$seed TERN_NETWORK=tcp
done

# goes_on LABEL OPTION... -- PROGRAM...: the survivors end with the right sum, or nobody is left and that is told.
goes_on() {
    label=$1
    shift
    options=
    while [ "$1" != -- ]; do options="$options $1"; shift; done
    shift
    # shellcheck disable=SC2086
    job --with-ft $options "$@"
    found=$(grep -c "have survived" "$place/said") || found=0
    if [ "$code" -eq 0 ] && [ "$found" -eq 1 ] && ! is_harmed "$place/said"; then
        ok "$label: $(grep "have survived" "$place/said")"
    elif has_lost_all "$code" "$place/said"; then
        ok "$label: $(grep -am 1 '^mpiexec: ' "$place/said")"
    else
        fail "$label" "exit code $code, $found lines"
    fi
}

seed=0
while [ "$seed" -lt $((4 * seeds)) ]; do
    seed=$((seed + 1))
    case $((seed % 4)) in
        0) nodes="--nodes 2 -x TERN_NETWORK=tcp" ;;
        1) nodes="--nodes 2" ;;
        *) nodes= ;;
    esac
    # shellcheck disable=SC2086
    goes_on "seed $seed: ranks die $nodes" -n $((3 + seed % 4)) $nodes -x TERN_CHAOS=$seed,kill=1/3@1500 -- "$place/kills" $seed 0
done
job --with-ft -n 4 -x TERN_CHAOS=$seed "$place/survive"
label="one is lost, and the others are delayed"
if [ "$code" -eq 0 ] && [ "$(grep -c 'has survived' "$place/said")" -eq 3 ]; then ok "$label"; else fail "$label" "exit code $code"; fi

sums
