#!/bin/sh
# Long tests that `make test` has short forms of: each goes on for some minutes with numbers that nobody has seen yet.
# Usage: scripts/check-deep.sh PREFIX [SECONDS]     for example: scripts/check-deep.sh target/prefix 600
# SECONDS: for each kind [600]. Exit code: 0 when nothing failed. A failure tells the seed, which brings it about again.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "$1" && pwd)
seconds=${2:-600}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
passed=0 failed=0

# random NAME PROMOTE: what programs do to their memory, between messages.
random() {
    "$prefix/bin/mpicc" -O1 -g -I"$here/tests/c" "$here/tests/c/$1.c" -o "$build/$1" -pthread
    end=$(($(date +%s) + seconds)) seed=$(date +%s)
    while [ "$(date +%s)" -lt "$end" ]; do
        seed=$((seed + 1))
        if (cd "$build" && timeout 600 "$prefix/bin/mpiexec" -x "TERN_PROMOTE=$2" -x TERN_COSTS=default -n 2 "./$1" 400 "$seed") > "$build/log" 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL $1 400 $seed, TERN_PROMOTE=$2"
            tail -n 15 "$build/log"
        fi
    done
}

random memory_random auto
random memory_random always
random memory_random_forms auto
random memory_random_always always
echo "$passed passed, $failed failed, 0 skipped"

# All C programs, compiled with the headers of other MPI libraries.
"$here/tests/faces-test.sh" "$prefix" all || failed=$((failed + 1))

# Every C program at all its numbers of ranks by each way that bytes can move, and mpi4py's suite.
TERN_TEST_MECHANISMS=all "$here/tests/mechanisms-test.sh" "$prefix" || failed=$((failed + 1))

# mpi4py's suite on its published wheel.
for abi in mpich openmpi; do
    MPI4PY_WHEEL=1 MPI4PY_MPIABI=$abi "$here/tests/mpi4py.sh" "$prefix" 1 2 4 || failed=$((failed + 1))
done

"$here/scripts/miri.sh" || failed=$((failed + 1))
"$here/scripts/sanitize.sh" || failed=$((failed + 1))
"$here/scripts/sanitize-threads.sh" || failed=$((failed + 1))
"$here/scripts/fuzz.sh" || failed=$((failed + 1))
[ "$failed" -eq 0 ]
