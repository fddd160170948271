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
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0

# Of the last line that a part has printed: N passed, N failed, N skipped.
add() {
    # shellcheck disable=SC2046
    set -- $(sed -nE 's/^(total: )?([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped.*/\2 \3 \4/p' "$1" |
        awk '{ p += $1; f += $2; s += $3 } END { print p + 0, NR ? f + 0 : 1, s + 0 }')
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

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
    add "$place/said"
    if [ "${TERN_TEST_MECHANISMS:-}" = all ]; then
        env "$@" "$here/mpi4py.sh" "$prefix" 2 > "$place/said" 2>&1 || true
        grep -E 'FAIL|passed' "$place/said" || true
        add "$place/said"
    fi
}

for mechanism in pipe cma mapped; do
    with TERN_MECHANISM="$mechanism"
done
with TERN_PROMOTE=always
with TERN_PROMOTE=always TERN_WATCH=off
with TERN_PROMOTE=always TERN_MECHANISM=mapped

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
