#!/bin/sh
# Jobs that go on without ranks that are killed (mpiexec --with-ft): errors where they belong, agreement, revocation, shrinking, successors, meetings
# of parents and children, sessions; on one node, on simulated ones, and over TCP.
# Usage: tests/ft-test.sh PREFIX [SEEDS]
# SEEDS: how many runs with ranks that die at random, 6 unless told; `make check-deep` takes 500. From 100 on memory is looked at in the long form.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [SEEDS]"}" && pwd)
seeds=${2:-6}
. "$here/common.sh"
make_place
evidence=$place/said
for program in survive kills respawn days late meet session leave again alone aborts handlers away; do
    "$prefix/bin/mpicc" -std=gnu11 -O1 -o "$place/$program" "$here/ft/$program.c"
done

# goes_on LABEL COUNT LINE OPTION... -- PROGRAM...: the job ends with 0, and that line comes so often.
goes_on() {
    label=$1 count=$2 line=$3
    shift 3
    options=
    while [ "$1" != -- ]; do options="$options $1"; shift; done
    shift
    code=0
    # shellcheck disable=SC2086
    timeout --kill-after=5 "${limit:-90}" "$prefix/bin/mpiexec" --with-ft $options "$@" < /dev/null > "$place/said" 2>&1 || code=$?
    found=$(grep -c "$line" "$place/said") || found=0
    if [ "$code" -eq 0 ] && [ "$found" -eq "$count" ]; then ok "$label"; else fail "$label" "exit code $code, $found lines"; fi
}

for ranks in 3 8; do
    goes_on "$ranks ranks lose one" $((ranks - 1)) "has survived" -n $ranks -- "$place/survive"
    goes_on "$ranks ranks on 2 nodes lose one" $((ranks - 1)) "has survived" -n $ranks --nodes 2 -- "$place/survive"
    goes_on "$ranks ranks over TCP lose one" $((ranks - 1)) "has survived" -n $ranks --nodes 2 -x TERN_NETWORK=tcp -- "$place/survive"
done
goes_on "and where XRC is asked for, those of its node stay" 3 "has survived" -n 4 --nodes 2 -x TERN_VERBS_TRANSPORT=xrc -- "$place/survive"
goes_on "a successor takes a lost rank's place" 1 "rank 1 of 4 has done 6 steps, as a successor" -n 4 -- "$place/respawn"
goes_on "and on 2 nodes" 1 "rank 1 of 4 has done 6 steps, as a successor" -n 4 --nodes 2 -- "$place/respawn"
goes_on "what is kept of the lost does not grow with their number" 1 "after 12 losses: .*: it does not grow" -n 3 -- "$place/days"
goes_on "a rank that comes late to MPI_Finalize finds the others" 3 "has ended" -n 4 -- "$place/late" 7
for way in "" "--nodes 2" "--nodes 2 -x TERN_NETWORK=tcp"; do
    label=${way:-one node}
    for who in root other; do
        # shellcheck disable=SC2086
        goes_on "a parent dies while children meet it ($who, $label)" 2 "a parent has gone on" -n 3 $way -- "$place/meet" $who
    done
    for who in killed ends inside; do
        # shellcheck disable=SC2086
        goes_on "a child dies before it has met its parents ($who, $label)" 3 "a parent has gone on" -n 3 $way -- "$place/meet" $who
    done
    # shellcheck disable=SC2086
    goes_on "sessions alone ($label)" 3 "has ended its session" -n 5 $way -- "$place/session"
    # shellcheck disable=SC2086
    for who in one others "one agree" "others agree"; do
        # shellcheck disable=SC2086 # Two words make two arguments.
        goes_on "another session after that ($who, $label)" 3 "has had two sessions" -n 3 $way -- "$place/again" $who
    done
    # shellcheck disable=SC2086
    goes_on "all ranks but one die ($label)" 5 "one of 5 again" -n 5 $way -- "$place/alone" 2
done
goes_on "ranks leave MPI after an agreement with a loss" 3 "has left" -n 4 -- "$place/leave"
goes_on "also where they have freed the communicator" 3 "has left" -n 4 -- "$place/leave" freed
goes_on "whoever has left without an agreement is not lost" 3 "has had two sessions" -n 3 -- "$place/again" one without
goes_on "a rank aborts MPI_COMM_SELF and ends alone" 3 "has survived" -n 4 -- "$place/aborts"
goes_on "and on 2 nodes" 3 "has survived" -n 4 --nodes 2 -- "$place/aborts"
code=0
"$prefix/bin/mpiexec" -n 2 "$place/aborts" < /dev/null > "$place/said" 2>&1 || code=$?
if [ "$code" -eq 1 ]; then ok "which ends the job without --with-ft"; else fail "MPI_COMM_SELF aborted without --with-ft" "exit code $code"; fi
seed=0
while [ "$seed" -lt "$seeds" ]; do
    seed=$((seed + 1))
    ranks=$((4 + seed % 5)) kills=$((1 + seed % 3))
    nodes=
    [ $((seed % 3)) -ne 0 ] || nodes="--nodes 2"
    [ $((seed % 6)) -ne 0 ] || nodes="--nodes 2 -x TERN_NETWORK=tcp"
    session=
    [ $((seed % 4)) -ne 1 ] || session=session
    # shellcheck disable=SC2086
    goes_on "seed $seed: $kills of $ranks ranks die $nodes $session" 1 "have survived" -n $ranks $nodes -- "$place/kills" $seed $kills $session
done

# A rank that takes nothing of what the launcher says of hundreds of losses holds nobody up.
goes_on "300 processes are lost while a rank computes" 2 "rank [01] has ended" -n 2 -- "$place/away" "$place/flag"

# A time limit is kept.
code=0
timeout 60 "$prefix/bin/mpiexec" --with-ft --timeout 3 -n 4 "$place/late" 1000 < /dev/null > "$place/said" 2>&1 || code=$?
if [ "$code" -eq 124 ] && grep -q "has not ended after 3 s" "$place/said"; then ok "a time limit"; else fail "a time limit" "exit code $code"; fi
if [ "$seeds" -ge 100 ]; then
    "$prefix/bin/mpicc" -std=gnu11 -O1 -o "$place/ft_memory" "$here/c/ft_memory.c"
    limit=1500
    goes_on "10,000 agreements, revocations and shrinks leave nothing behind" 3 "as they should" -n 4 -- "$place/ft_memory" 10000
    goes_on "and on 2 nodes" 3 "as they should" -n 4 --nodes 2 -- "$place/ft_memory" 10000
    limit=
fi

# An error handler that ends the job does so when a lost rank is missed, and says why.
for handler in fatal abort; do
    code=0
    timeout 60 "$prefix/bin/mpiexec" --with-ft -n 3 "$place/handlers" $handler < /dev/null > "$place/said" 2>&1 || code=$?
    if [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && grep -q "MPI_ERR_PROC_FAILED" "$place/said" && ! grep -q "goes on all the same" "$place/said"; then
        ok "MPI_ERRORS_$handler ends the job"
    else
        fail "MPI_ERRORS_$handler" "exit code $code"
    fi
done

# Without --with-ft the job ends, as ever.
code=0
timeout 60 "$prefix/bin/mpiexec" -n 3 "$place/kills" 1 1 < /dev/null > "$place/said" 2>&1 || code=$?
if [ "$code" -eq 137 ]; then ok "without --with-ft a lost rank ends the job"; else fail "without --with-ft" "exit code $code"; fi

sums
