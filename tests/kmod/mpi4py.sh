#!/bin/sh
# Test modules of mpi4py at 2 ranks whose messages the kernel module copies, one after the other, each with a time of its own.
# Usage: tests/kmod/mpi4py.sh BUILD PREFIX PYTHON SECONDS MODULE...
#   BUILD has the kernel module; PYTHON: mpi4py, as tests/mpi4py-build.sh has built it; SECONDS: for each of the test modules
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1 prefix=$2 python=$3 seconds=$4
shift 4
. "$here/common.sh"

busybox insmod "$build/module/tern.ko" || { bad "the module cannot be loaded"; exit 1; }
echo 3 > /proc/sys/kernel/yama/ptrace_scope || bad "process_vm_readv cannot be forbidden"
for module; do
    MPI4PY_BUILT=$python MPI4PY_TIMEOUT=$seconds MPI4PY_ARGUMENTS="-i $module[.]py" TERN_MECHANISM=module \
        "$here/../mpi4py.sh" "$prefix" 2 || failed=1
done
at_the_end
exit "$failed"
