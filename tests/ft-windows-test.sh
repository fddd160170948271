#!/bin/sh
# Windows, files, messages, collectives and communicators of a job that has lost a rank and goes on (mpiexec --with-ft): each call returns, with the error that it should
# have or with none, on one node and on two, whatever the rank was at when it was lost.
# Usage: tests/ft-windows-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
evidence=$place/said

programs="ft_win ft_file ft_ends ft_coll ft_p2p ft_complete ft_inter ft_errhandler ft_revoke ft_standin ft_first ft_worlds"
export TERN_TEST_DIR="$place/programs" TMPDIR="$place"
compiled

# survives PROGRAM NODES [MOMENT]: the living ranks say that all was as it should be. The job's exit code is theirs. On a busy machine mpiexec may
# learn of the loss when the others have ended: then nothing goes on without it.
survives() {
    program=$1 nodes=$2
    shift 2
    what="$program${1:+, $1}, $nodes nodes"
    timeout 120 "$prefix/bin/mpiexec" --with-ft -n 4 --nodes "$nodes" "$place/programs/$program" "$@" > "$place/said" 2>&1 && code=0 || code=$?
    told=$(grep -c 'all calls have returned as they should' "$place/said" || true)
    if [ "$code" -eq 0 ] && [ "$told" -eq 3 ] && grep -q 'rank 3 .*SIGKILL' "$place/said"; then
        ok "$what"
    else
        fail "$what" "exit code $code, $told ranks are content"
    fi
}

# worlds WHO [OPTION...]: the same where parents or children lose one, in windows of both.
worlds() {
    who=$1
    shift
    what="ft_worlds, $who${*:+, $*}"
    timeout 120 "$prefix/bin/mpiexec" --with-ft -n 2 "$@" "$place/programs/ft_worlds" "$who" > "$place/said" 2>&1 && code=0 || code=$?
    told=$(grep -c 'all calls have returned as they should' "$place/said" || true)
    if [ "$code" -eq 0 ] && [ "$told" -eq 3 ] && grep -q 'rank 1 .*SIGKILL' "$place/said"; then
        ok "$what"
    else
        fail "$what" "exit code $code, $told ranks are content"
    fi
}

for nodes in 1 2; do
    for moment in idle alone shared all waiting queueing fence post start sum; do survives ft_win $nodes $moment; done
    survives ft_file $nodes
    survives ft_file $nodes within
    survives ft_ends $nodes
    survives ft_ends $nodes open
    survives ft_ends $nodes within
    survives ft_coll $nodes within
done
# tests/run.sh has run them on one node.
for program in ft_coll ft_p2p ft_complete ft_inter ft_errhandler ft_revoke ft_standin ft_first; do survives $program 2; done
for who in child parent; do
    worlds $who
    worlds $who --nodes 2
    worlds $who --nodes 2 -x TERN_NETWORK=tcp
done

sums
