#!/bin/sh
# Which way bytes move may change how fast a program is, never what it computes: the C programs that
# send messages run with each mechanism forced, and with promotion always. (choices-test.sh has absurd
# costs.)
# What is forced concerns two processes at a time, so that more ranks than 4 add nothing here.
# Usage: tests/mechanisms-test.sh PREFIX
#   TERN_TEST_MECHANISMS=all   every C program at all its numbers of ranks, and mpi4py's suite at 2 ranks
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

programs=
if [ "${TERN_TEST_MECHANISMS:-}" != all ]; then
    export TERN_TEST_MOST_RANKS=4
    for source in "$here"/c/p2p_*.c "$here"/c/coll_*.c "$here"/c/rma_*.c "$here"/c/type_construct.c "$here"/c/thread_pairs.c \
        "$here"/c/dyn_exchange.c "$here"/c/dyn_spawn.c "$here"/c/file_jobs.c; do
        name=${source##*/}
        programs="$programs ${name%.c}"
    done
fi

# They are compiled once.
export TERN_TEST_DIR="$place/programs"
# shellcheck disable=SC2086
if ! TERN_TEST_STEP=compile "$here/run.sh" "$prefix" $programs > "$place/said" 2>&1; then
    cat "$place/said"
    exit 1
fi

# with SETTING...: all programs under these settings; shows what fails.
with() {
    echo "-- $*"
    # shellcheck disable=SC2086
    env "$@" TERN_TEST_STEP=run "$here/run.sh" "$prefix" $programs > "$place/said" 2>&1 || true
    grep -v '^ok ' "$place/said" | sed '$d'
    add
    if [ "${TERN_TEST_MECHANISMS:-}" = all ]; then
        env "$@" "$here/mpi4py.sh" "$prefix" 2 > "$place/said" 2>&1 || not_content
        grep -E 'FAIL|passed' "$place/said" || true
        add
    fi
}

for mechanism in pipe cma mapped; do
    with TERN_MECHANISM="$mechanism"
done
with TERN_PROMOTE=always
with TERN_PROMOTE=always TERN_WATCH=off
with TERN_PROMOTE=always TERN_MECHANISM=mapped

sums
