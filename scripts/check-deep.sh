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
passed=0 failed=0 skipped=0

# random NAME LENGTH ARGUMENT...: a program that draws what it does, with one seed after the other; with these arguments of mpiexec.
random() {
    name=$1 length=$2
    shift 2
    "$prefix/bin/mpicc" -std=gnu11 -O1 -g -I"$here/tests/c" "$here/tests/c/$name.c" -o "$build/$name" -pthread -lm
    end=$(($(date +%s) + seconds)) seed=$(date +%s)
    while [ "$(date +%s)" -lt "$end" ]; do
        seed=$((seed + 1))
        if (cd "$build" && timeout 600 "$prefix/bin/mpiexec" "$@" "./$name" "$length" "$seed") > "$build/log" 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL $name $length $seed, mpiexec $*"
            tail -n 15 "$build/log"
        fi
    done
}

# What programs do to their memory, between messages.
for promote in auto always; do
    random memory_random 400 -n 2 -x TERN_COSTS=default -x TERN_PROMOTE="$promote"
done
random memory_random_forms 400 -n 2 -x TERN_COSTS=default -x TERN_PROMOTE=auto
random memory_random_always 400 -n 2 -x TERN_COSTS=default -x TERN_PROMOTE=always

# One-sided communication, by every way that it has.
random rma_random 100 -n 3
random rma_random 100 -n 3 -x TERN_PROMOTE=off
random rma_random 100 -n 3 -x TERN_MECHANISM=mapped -x TERN_PROMOTE=always
random rma_random 100 -n 3 -x TERN_MECHANISM=pipe
random rma_random 100 -n 3 -x TERN_MECHANISM=cma
if [ -e /dev/tern ]; then
    random rma_random 100 -n 3 -x TERN_MECHANISM=module
else
    skipped=$((skipped + 1))
    echo "SKIP rma_random with TERN_MECHANISM=module: there is no /dev/tern, the device of the kernel module"
fi
random rma_random 100 -n 3 --nodes 2
random rma_random 100 -n 3 --nodes 2 -x TERN_NETWORK=tcp
if "$prefix/bin/tern-info" networks | grep -q "tcp;ofi_rxm"; then
    # The interface that libfabric would take may be one of another test's, which goes with it.
    random rma_random 100 -n 3 --nodes 2 -x TERN_NETWORK=ofi -x "TERN_OFI_PROVIDER=tcp;ofi_rxm" -x TERN_INTERFACE=lo
else
    skipped=$((skipped + 1))
    echo "SKIP rma_random with TERN_NETWORK=ofi: libfabric is not there, or without tcp;ofi_rxm"
fi
random rma_random 100 -n 3 --nodes 2 -x TERN_NETWORK=software -x TERN_VERBS_TRANSPORT=xrc
echo "$passed passed, $failed failed, $skipped skipped"

# All C programs, compiled with the headers of other MPI libraries.
"$here/tests/faces-test.sh" "$prefix" all || failed=$((failed + 1))

# Every C program at all its numbers of ranks by each way that bytes can move, and mpi4py's suite.
TERN_TEST_MECHANISMS=all "$here/tests/mechanisms-test.sh" "$prefix" || failed=$((failed + 1))
"$here/tests/cut-test.sh" "$prefix" xrc sockets || failed=$((failed + 1))
TERN_TEST_STRANGERS=all "$here/tests/strangers-test.sh" "$prefix" || failed=$((failed + 1))

# Right programs under TERN_CHECK.
TERN_TEST_CHECKED=all "$here/tests/checked-test.sh" "$prefix" || failed=$((failed + 1))

# Fortran, MPI at the end of a program, and wrong programs under TERN_CHECK, by each way that bytes can move.
for test in fortran ends check; do
    TERN_TEST_MECHANISMS=all "$here/tests/$test-test.sh" "$prefix" || failed=$((failed + 1))
done

# mpi4py's suite, compiled here, at the numbers of ranks that `make test` leaves out; then on its published wheel.
"$here/tests/mpi4py.sh" "$prefix" 2 4 || failed=$((failed + 1))
for abi in mpich openmpi; do
    MPI4PY_WHEEL=1 MPI4PY_MPIABI=$abi "$here/tests/mpi4py.sh" "$prefix" 1 2 4 || failed=$((failed + 1))
done

# Members of windows that are killed at every instruction of what they do.
TERN_TEST_STEPS=all "$here/tests/ft-steps-test.sh" "$prefix" || failed=$((failed + 1))

"$here/scripts/miri.sh" || failed=$((failed + 1))
"$here/scripts/sanitize.sh" || failed=$((failed + 1))
"$here/scripts/sanitize-threads.sh" || failed=$((failed + 1))
"$here/scripts/fuzz.sh" || failed=$((failed + 1))
[ "$failed" -eq 0 ]
