#!/bin/sh
# Jobs that go on without ranks that are killed (mpiexec --with-ft): errors where they belong, agreement, revocation, shrinking, successors; on one
# node, on simulated ones, and over TCP.
# Usage: tests/ft-test.sh PREFIX [SEEDS]
# SEEDS: how many runs with ranks that die at random, 6 unless told; `make check-deep` takes 500. From 100 on memory is looked at in the long form.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [SEEDS]"}" && pwd)
seeds=${2:-6}
. "$here/common.sh"
make_place
evidence=$place/said
for program in survive kills respawn late handlers; do
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
goes_on "a successor takes a lost rank's place" 1 "rank 1 of 4 has done 6 steps, as a successor" -n 4 -- "$place/respawn"
goes_on "and on 2 nodes" 1 "rank 1 of 4 has done 6 steps, as a successor" -n 4 --nodes 2 -- "$place/respawn"
goes_on "a rank that comes late to MPI_Finalize finds the others" 3 "has ended" -n 4 -- "$place/late" 7
seed=0
while [ "$seed" -lt "$seeds" ]; do
    seed=$((seed + 1))
    ranks=$((4 + seed % 5)) kills=$((1 + seed % 3))
    nodes=
    [ $((seed % 3)) -ne 0 ] || nodes="--nodes 2"
    # shellcheck disable=SC2086
    goes_on "seed $seed: $kills of $ranks ranks die $nodes" 1 "have survived" -n $ranks $nodes -- "$place/kills" $seed $kills
done

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
