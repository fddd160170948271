#!/bin/sh
# Members of windows that are killed at a step of their work, in a job that goes on without them (mpiexec --with-ft): steps are instructions, so
# each place of a lock, a guard or an epoch can be the last one. What the living call returns, and their windows serve them.
# Usage: tests/ft-steps-test.sh PREFIX
# TERN_TEST_STEPS=all: at every instruction of the short works, and at some hundred places of the others.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
evidence=$place/said
export TMPDIR="$place"
"$prefix/bin/mpicc" -std=gnu11 -O1 -g -I"$here/c" -o "$place/steps" "$here/ft/steps.c"
if [ "$(uname -m)" != x86_64 ]; then
    skip "members that are killed at a step" "the program counts instructions by the trap flag of x86-64"
    sums
    exit
fi

# kills RANKS WORK FROM EVERY [ARGUMENT...]: two of the ranks are left, and content.
kills() {
    ranks=$1 work=$2 from=$3 every=$4
    shift 4
    code=0
    set -- "$@" "$place/steps" "$work" "$from" "$every"
    timeout --kill-after=5 600 "$prefix/bin/mpiexec" --with-ft -n "$ranks" "$@" < /dev/null > "$place/said" 2>&1 || code=$?
    content=$(grep -c 'all calls have returned as they should' "$place/said") || content=0
    [ "$code" -eq 0 ] && [ "$content" -eq 2 ]
}

# spread RANKS WORK [ARGUMENT...]: kills at places that lie evenly in the work.
spread() {
    ranks=$1 work=$2
    shift 2
    label="$work, $ranks ranks${*:+, $*}"
    if kills "$ranks" "$work" 0 0 "$@"; then ok "$label"; else fail "$label" "exit code $code, $content ranks are content"; fi
}

# every WORK STRIDE [ARGUMENT...]: kills after each so many instructions, until the work has no more.
every() {
    work=$1 stride=$2
    shift 2
    from=1
    while :; do
        label="$work, after $from instructions and each $stride more${*:+, $*}"
        if kills 16 "$work" "$from" "$stride" "$@"; then ok "$label"; else fail "$label" "exit code $code, $content ranks are content"; fi
        # The last kills are in the smallest jobs, which have the fewest instructions.
        most=$(sed -n 's/.* of about \([0-9]*\)$/\1/p' "$place/said" | sort -n | tail -n 1)
        from=$((from + 14 * stride))
        [ "$from" -lt "${most:-0}" ] || break
    done
}

works="fence post complete alone shared all sum guard swap sum-created guard-created swap-created sum-attached change create allocate attach messages memory"
if [ "${TERN_TEST_STEPS:-}" = all ]; then
    for work in complete alone shared all swap change; do every "$work" 1; done
    for work in guard swap-created; do every "$work" 3; done
    for work in fence post sum guard-created sum-created sum-attached; do every "$work" 29; done
    for work in create allocate allocate_shared attach messages memory; do every "$work" 499; done
    for work in $works; do spread 16 "$work" --nodes 2; spread 16 "$work" --nodes 2 -x TERN_NETWORK=tcp; done
else
    for work in complete all guard change messages memory; do spread 5 "$work"; done
    spread 5 sum --nodes 2
fi

sums
