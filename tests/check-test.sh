#!/bin/sh
# TERN_CHECK: mistakes of programs are found and named, and a clean program is left alone, by every way that bytes move, on several nodes, and in
# programs compiled for MPICH and Open MPI. What must be said is in debug/expected.sh.
# Usage: tests/check-test.sh PREFIX
#   TERN_FACES     which other interfaces, where their mpi.h can be had [mpich openmpi]
#   TERN_TEST_MECHANISMS=all   with each interface by every way, also by several that go together
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
work=$place
# $place is the folder of the headers further below, which stay.
trap 'rm -rf "$work"' EXIT

# run CHECK WAY [return]: what a job of two ranks says, and its exit code at the end.
run() {
    code=0
    # shellcheck disable=SC2086
    TERN_CHECK=$1 timeout --kill-after=5 60 "$prefix/bin/mpiexec" $by -n 2 "$work/mistakes" "$2" ${3:-} \
        < /dev/null > "$work/said" 2>&1 || code=$?
    echo "exit code $code" >> "$work/said"
}

# misuse WAY: what a job of three ranks says that is checked. It runs $program.
misuse() {
    code=0
    rm -f "$work/file"
    # shellcheck disable=SC2086
    TERN_CHECK=on timeout --kill-after=5 60 "$prefix/bin/mpiexec" $by -n 3 "$work/$program" "$1" "$work/file" \
        < /dev/null > "$work/said" 2>&1 || code=$?
    echo "exit code $code" >> "$work/said"
}

# expect LABEL: reads lines that must be said; those that start with `!` must not be.
expect() {
    wrong=
    while read -r line; do
        case $line in
        !*) ! grep -q -e "${line#!}" "$work/said" || wrong="a line matches: ${line#!}" ;;
        *) grep -q -e "$line" "$work/said" || wrong="no line matches: $line" ;;
        esac
    done
    if [ -z "$wrong" ]; then
        ok "$on$1"
    else
        fail "$on$1" "$wrong"
        cut -c 1-300 "$work/said" | sed 's/^/    /'
    fi
}

# finds WAY LABEL LINE: a way of $program is named.
finds() {
    misuse "$1"
    expect "$2" << LINES
$3
LINES
}

# alone WAY...: a right program is left alone.
alone() {
    for right in "$@"; do
        misuse "$right"
        expect "$right is left alone" << 'LINES'
^exit code 0$
!tern
!wrong
LINES
    done
}

# stalls RANKS PROGRAM WAY: a job that hangs is explained (TERN_STALL), and ended here as soon as it is.
stalls() {
    # What the job before has said would be taken for this one's, which the shell begins only later.
    : > "$work/said"
    # shellcheck disable=SC2086
    TERN_CHECK=on TERN_STALL=300ms "$prefix/bin/mpiexec" $by -n "$1" "$work/$2" "$3" < /dev/null > "$work/said" 2>&1 &
    launcher=$!
    # A minute is for what hangs.
    tries=1200
    while ! grep -q deadlock "$work/said" && [ "$tries" -gt 0 ]; do
        tries=$((tries - 1))
        sleep 0.05
        # Some rank may have waited for too short a time when the first picture was made: another one is asked for.
        [ ! -s "$work/said" ] || kill -USR1 "$launcher" || tries=0
    done
    kill "$launcher" || true
    wait "$launcher" 2> /dev/null || true
}

# each FACE COMPILER...: the programs, compiled for an interface, by each way on standard input, a line of mpiexec's arguments.
each() {
    face=$1
    shift
    for source in mistakes misuse further; do
        "$@" -pthread -o "$work/$source" "$here/debug/$source.c"
    done
    while read -r by; do
        on="$face${by:+, $by}: "
        . "$here/debug/expected.sh"
    done
}

# With three nodes each rank has one of its own; mpiexec makes no more than there are ranks.
apart='--nodes 3'
{
    echo
    echo "$apart"
    ways
    for mechanism in pipe cma mapped; do
        echo "-x TERN_MECHANISM=$mechanism"
    done
} | awk '!seen[$0]++' > "$work/all"
each Tern "$prefix/bin/mpicc" -Wall < "$work/all"
if [ "${TERN_TEST_MECHANISMS:-}" = all ]; then cp "$work/all" "$work/some"; else head -n 2 "$work/all" > "$work/some"; fi

place=$root/target/faces
mkdir -p "$place"
. "$here/faces/header.sh"
for face in ${TERN_FACES:-mpich openmpi}; do
    include=$(header_of $face)
    if [ -z "$include" ]; then
        skip "$face" "no mpi.h of it: $(tail -n 1 "$place/$face.log")"
        continue
    fi
    case $face in mpich) library=libmpi.so.12 ;; *) library=libmpi.so.40 ;; esac
    # shellcheck disable=SC2086
    each "$face" ${CC:-cc} -w "-I$include" "-Wl,-rpath,$prefix/lib" "-L$prefix/lib" -Wl,--no-as-needed "-l:$library" < "$work/some"
done

# Legal programs run as they do without: many collectives under way at once, and every way to ask for an end.
by='' on=''
for program in coll_overlap coll_mixed p2p_complete; do
    code=0
    TERN_CHECK=on TERN_TEST_DIR=$work/legal TERN_TEST_MOST_RANKS=4 "$here/run.sh" "$prefix" "$program" \
        > "$work/said" 2>&1 || code=$?
    echo "exit code $code" >> "$work/said"
    expect "$program is left alone" << 'LINES'
^exit code 0$
LINES
done
sums
