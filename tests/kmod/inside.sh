#!/bin/sh
# What tests/kmod-test.sh runs inside the machine.
# Usage: tests/kmod/inside.sh BUILD PREFIX PYTHON PROGRAMS CALLS SEED...
#   BUILD has the modules and the programs; PYTHON: mpi4py, as tests/mpi4py-build.sh has built it, or `none`; PROGRAMS: MPI programs that are compiled there; each SEED is for CALLS random calls
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1 prefix=$2 python=$3 programs=$4 calls=$5
shift 5
failed=0

bad() {
    echo "FAIL $*"
    echo "0 passed, 1 failed, 0 skipped"
    failed=1
}
good() {
    echo "ok $*"
    echo "1 passed, 0 failed, 0 skipped"
}

busybox insmod "$build/module/tern.ko" || { bad "the module cannot be loaded"; exit 1; }
"$build/functional-test" || failed=1
"$build/hostile-test" || failed=1
export TERN_TEST_MODULE=1
"$build/region-test" || failed=1
# Private memory by the module alone, and with all that a space has.
for options in 11 8; do
    if "$build/library-test" $options; then good "the region library, options $options"; else bad "the region library, options $options"; fi
done
busybox insmod "$build/engine/softdma.ko" || bad "the engine cannot be loaded"
"$build/engine-test" || failed=1
for seed; do
    "$build/random-test" "$calls" "$seed" || failed=1
done

# What the module does not copy is not copied at all, and Tern would say so in a second line (the first one heads its counts).
echo 3 > /proc/sys/kernel/yama/ptrace_scope || bad "process_vm_readv cannot be forbidden"
export TERN_TEST_STEP=run TERN_TEST_DIR="$build/programs" TERN_TEST_MOST_RANKS=2 TERN_TEST_PATIENCE=5
# Of many messages at a time, a region may have gone to make room for another before its receiver comes; that receiver says so once.
lines=1
[ "$python" = none ] || lines=2
# shellcheck disable=SC2086
TERN_MECHANISM=module TERN_STATS=1 TERN_TEST_WARNINGS=$lines "$here/../run.sh" "$prefix" $programs || failed=1
set -- $programs
copied=$(sed -nE 's/.*module_bytes[^0-9]*([0-9]+).*/\1/p' "$build/programs/$1.2.log" | head -n 1)
if [ "${copied:-0}" -gt 1000000 ]; then
    good "$1: the module has copied $copied bytes"
else
    bad "$1: the module has copied ${copied:-no} bytes"
    grep -E 'module|kernel' "$build/programs/$1.2.log" | head -n 20
fi

if [ "$python" != none ]; then
    # Those of its modules that send messages of all kinds: the whole takes too long here.
    suite="-i test_p2p_buf -i test_p2p_obj -i test_cco_buf -i test_cco_vec -i test_rma"
    MPI4PY_BUILT=$python MPI4PY_TIMEOUT=1500 MPI4PY_ARGUMENTS=$suite TERN_MECHANISM=module \
        "$here/../mpi4py.sh" "$prefix" 2 || failed=1
fi

for name in contexts regions pinned_pages jobs attachments; do
    [ "$(cat /sys/class/misc/tern/$name)" = 0 ] || bad "the MPI programs have left $name: $(cat /sys/class/misc/tern/$name)"
done
# With a reference left anywhere the module could not go.
if busybox rmmod tern; then good "the module is unloaded"; else bad "the module cannot be unloaded"; fi
if dmesg | grep -E 'WARNING:|BUG|Oops|refcount_t|Padding overwritten|Poison overwritten|blocked for more than'; then
    bad "the kernel complains"
    dmesg | tail -n 60
else
    good "the kernel has nothing to complain of"
fi
exit "$failed"
