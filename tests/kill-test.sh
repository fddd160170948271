#!/bin/sh
# Kills a rank, or the launcher, in the middle of things, and runs under tight limits: the job
# ends, says who was lost, and leaves nothing behind.
# Usage: tests/kill-test.sh PREFIX
# Times only bound how long a test waits for what must happen.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
# A /dev/shm of its own, where that is allowed: other programs come and go in the real one.
if [ "${2:-}" != private ] && unshare --mount true 2> /dev/null; then
    # shellcheck disable=SC2016
    exec unshare --mount sh -c 'mount -t tmpfs tmpfs /dev/shm && exec "$0" "$@"' \
        "$here/${0##*/}" "$prefix" private
fi
mpiexec=$prefix/bin/mpiexec
make_place
evidence=$place/said
# How long to wait for a job that has lost a rank: it should end in a moment.
patience=20

# until_true SECONDS COMMAND...: tries the command until it succeeds.
until_true() {
    tries=$(($1 * 20))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}
all_there() { [ "$(ls "$place/ranks" | grep -c '^[0-9]*$')" -eq "$ranks" ]; }
# Gone, or dead and not yet collected by whoever is in charge of it.
is_gone() { [ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*[ZX]' "/proc/$1/status" 2> /dev/null; }
all_gone() {
    for process in $(cat "$place/processes"); do
        is_gone "$process" || return 1
    done
}
shared_memory() { ls -A /dev/shm 2> /dev/null | sort; }

# start RANKS WAY [COMMAND...]: starts a job that is busy, and waits until all ranks are.
# The command, if any, stands before the program.
start() {
    ranks=$1 way=$2
    shift 2
    rm -rf "$place/ranks"
    mkdir "$place/ranks"
    shared_memory > "$place/before"
    "$mpiexec" -n "$ranks" "$@" "$place/busy" "$way" "$place/ranks" < /dev/null > "$place/said" 2>&1 &
    launcher=$!
    until_true 60 all_there || return 1
    cat "$place"/ranks/[0-9]* > "$place/processes"
}

# ended LABEL: waits for the launcher; leaves its exit code in `code`.
ended() {
    if ! until_true "$patience" is_gone "$launcher"; then
        fail "$1" "the job did not end in $patience s"
        # shellcheck disable=SC2046
        kill -9 "$launcher" $(cat "$place/processes") 2> /dev/null || true
        wait "$launcher" 2> /dev/null || true
        return 1
    fi
    code=0
    wait "$launcher" 2> /dev/null || code=$?
}

# clean LABEL: no process and no shared memory is left.
clean() {
    if ! until_true "$patience" all_gone; then
        fail "$1" "processes are left of: $(tr '\n' ' ' < "$place/processes")"
        return 1
    fi
    shared_memory > "$place/after"
    if ! cmp -s "$place/before" "$place/after"; then
        fail "$1" "files are left in /dev/shm: $(comm -13 "$place/before" "$place/after" | tr '\n' ' ')"
        return 1
    fi
}

# lost LABEL RANK CODE: the job ends with this code, says that it has lost this rank, and leaves nothing.
lost() {
    ended "$1" || return 0
    clean "$1" || return 0
    if [ "$code" -ne "$3" ]; then
        fail "$1" "exit code $code, expected $3"
    elif ! grep -q "rank $2 .*$(cat "$place/ranks/$2")" "$place/said"; then
        fail "$1" "the lost rank is not named"
    elif [ -n "$(ls -A "$TMPDIR")" ]; then
        fail "$1" "files are left in TMPDIR: $(ls -A "$TMPDIR")"
    else
        ok "$1"
    fi
}

# kill_rank RANKS WAY RANK SIGNAL CODE [ARGUMENT...]: with these arguments of mpiexec.
kill_rank() {
    ranks=$1 way=$2 rank=$3 signal=$4 wanted=$5
    shift 5
    label="$way, $ranks ranks${*:+, $*}: rank $rank gets SIG$signal"
    if ! start "$ranks" "$way" "$@"; then
        fail "$label" "not all ranks came to work"
        kill -9 "$launcher" 2> /dev/null || true
        return
    fi
    kill -s "$signal" "$(cat "$place/ranks/$rank")"
    lost "$label" "$rank" "$wanted"
}

# dies_opening RANKS RANK WHERE [ARGUMENT...]: this rank dies inside MPI_File_open, by SIGSYS, at its beginning or at its end.
dies_opening() {
    ranks=$1 rank=$2 where=$3
    shift 3
    label="MPI_File_open, $ranks ranks${*:+, $*}: rank $rank dies at $where"
    rm -rf "$place/ranks"
    mkdir "$place/ranks"
    shared_memory > "$place/before"
    "$mpiexec" -n "$ranks" "$@" "$place/opening" "$rank" "$where" "$place/shared" "$place/ranks" < /dev/null > "$place/said" 2>&1 &
    launcher=$!
    if ! until_true 60 all_there; then
        fail "$label" "not all ranks came to work"
        kill -9 "$launcher" 2> /dev/null || true
        return
    fi
    cat "$place"/ranks/* > "$place/processes"
    lost "$label" "$rank" 159
}

# kill_launcher RANKS WAY SIGNAL
kill_launcher() {
    label="$2, $1 ranks: mpiexec gets SIG$3"
    if ! start "$1" "$2"; then
        fail "$label" "not all ranks came to work"
        kill -9 "$launcher" 2> /dev/null || true
        return
    fi
    kill -s "$3" "$launcher"
    ended "$label" || return 0
    clean "$label" || return 0
    if [ "$code" -eq 0 ]; then
        fail "$label" "exit code 0"
    else
        ok "$label"
    fi
}

# under LABEL CODE PATTERN COMMAND...: a job under a limit ends with this code (`nonzero` for any but
# 0) and says what matches.
under() {
    label=$1 expected=$2 pattern=$3
    shift 3
    shared_memory > "$place/before"
    : > "$place/processes"
    "$@" < /dev/null > "$place/said" 2>&1 &
    launcher=$!
    patience=60 ended "$label" || return 0
    clean "$label" || return 0
    if [ "$expected" = nonzero ] && [ "$code" -eq 0 ]; then
        fail "$label" "exit code 0"
    elif [ "$expected" != nonzero ] && [ "$code" -ne "$expected" ]; then
        fail "$label" "exit code $code, expected $expected"
    elif ! grep -q "$pattern" "$place/said"; then
        fail "$label" "no line matches: $pattern"
    else
        ok "$label"
    fi
}

# What the library may put into files lies here.
export TMPDIR="$place/temporary"
mkdir "$TMPDIR"
for program in busy ring opening; do
    "$prefix/bin/mpicc" -O1 -Wall -o "$place/$program" "$here/kill/$program.c"
done

kill_rank 2 long 1 KILL 137
kill_rank 4 long 0 KILL 137
kill_rank 4 long 3 SEGV 139
kill_rank 4 short 2 KILL 137
kill_rank 2 collective 0 KILL 137
kill_rank 4 collective 1 ABRT 134
export TERN_COLL=bcast=region,gather=region,scatter=region
kill_rank 4 regions 0 KILL 137
kill_rank 4 regions 2 KILL 137
unset TERN_COLL
export TERN_POLICY=-copies
kill_rank 2 irregular 1 KILL 137
kill_rank 4 irregular 0 KILL 137
unset TERN_POLICY
kill_rank 4 asleep 3 KILL 137
kill_rank 2 computing 1 KILL 137
kill_rank 16 short 9 KILL 137
kill_rank 4 opening 1 KILL 137
kill_rank 4 opening 0 KILL 137 --nodes 2
for nodes in 1 2; do
    for where in open lock; do
        dies_opening 4 0 $where --nodes $nodes
        dies_opening 4 3 $where --nodes $nodes
    done
done
dies_opening 2 1 open --nodes 2 -x TERN_NETWORK=tcp
kill_launcher 4 long KILL
kill_launcher 4 asleep KILL
kill_launcher 4 collective TERM

# Memory: the mapping does not fit into the address space that a rank may have.
# shellcheck disable=SC2016
under "no room for the shared memory" nonzero 'memory' \
    "$mpiexec" -n 8 sh -c 'ulimit -v 40000; exec "$0"' "$place/ring"

# Memory: messages that nobody receives fill rank 0, which allows them more than it has.
label="unexpected messages fill a rank"
# shellcheck disable=SC2016
if start 3 flood sh -c 'ulimit -v 300000; TERN_UNEXPECTED=1000000000 exec "$0" "$@"'; then
    patience=120
    if ended "$label" && clean "$label"; then
        if [ "$code" -ne 0 ] && grep -q 'rank 0 ' "$place/said"; then
            ok "$label"
        else
            fail "$label" "exit code $code, or rank 0 is not named"
        fi
    fi
else
    fail "$label" "not all ranks came to work"
    kill -9 "$launcher" 2> /dev/null || true
fi

# Few descriptors: for the launcher, which says where to look, and for the ranks, which need few.
# shellcheck disable=SC2016
under "few descriptors for mpiexec" nonzero 'limit' \
    sh -c 'ulimit -n 12; exec "$@"' sh "$mpiexec" -n 16 "$place/ring"
# shellcheck disable=SC2016
under "few descriptors for the ranks" 0 '^sum 10$' \
    "$mpiexec" -n 4 sh -c 'ulimit -n 10; exec "$0"' "$place/ring"

# /dev/shm is not used: neither a small one nor none at all matters.
if unshare --mount true 2> /dev/null; then
    # shellcheck disable=SC2016
    under "a small /dev/shm" 0 '^sum 10$' unshare --mount sh -c \
        'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$@"' sh "$mpiexec" -n 4 "$place/ring"
    # shellcheck disable=SC2016
    under "a /dev/shm that cannot be written" 0 '^sum 10$' unshare --mount sh -c \
        'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$@"' sh "$mpiexec" -n 4 "$place/ring"
else
    skip "a small /dev/shm" "this user may not make a mount namespace"
fi

sums
