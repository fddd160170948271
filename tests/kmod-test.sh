#!/bin/sh
# The kernel module, in a virtual machine with Debian's kernel: what /dev/tern promises, what it survives, and MPI programs
# whose messages it copies.
# Usage: tests/kmod-test.sh PREFIX
#   TERN_TEST_KMOD=deep            with debugging of the kernel's allocator, 100,000 random calls of each of 3 seeds, more programs,
#                                  collectives by regions alone, and in a second machine some of mpi4py's suite at 2 ranks
#   TERN_TEST_KMOD=count           nothing but what copies cost, in instructions
#   TERN_TEST_VIRTUAL_LIMIT        seconds for the machine, from power on to power off [480, deep: 3600]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
place=$root/target/virtual
build=$root/target/kmod-test
mkdir -p "$build"

skip() {
    echo "SKIP kernel module: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

code=0
why=$("$here/virtual/prepare.sh" "$place") || code=$?
[ "$code" -ne 77 ] || skip "no virtual machine: ${why##*
}"
[ "$code" -eq 0 ] || { echo "$why"; exit "$code"; }
kernel=$(basename "$(echo "$place"/package/unpacked/lib/modules/*)")
headers=$("$root/scripts/kernel-headers.sh" "$kernel") || skip "no headers of the kernel $kernel (Debian's package linux-headers-$kernel)"

# module NAME DIRECTORY: builds a kernel module without a warning.
module() {
    rm -rf "$build/$1" && mkdir -p "$build/$1" && cp -r "$2"/* "$build/$1/"
    if ! make -C "$headers" M="$build/$1" modules W=1 > "$build/log" 2>&1 || grep -q warning: "$build/log"; then
        cat "$build/log"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
    fi
}
module module "$root/kmod"
module engine "$here/kmod/engine"
for program in functional hostile random engine count; do
    cc -O1 -g -Wall -Wextra -Werror -static "$here/kmod/$program.c" -o "$build/$program-test" -pthread
done

if [ "${TERN_TEST_KMOD:-}" = count ]; then
    # One instruction is one nanosecond of the machine's clock, and the kernel moves eight bytes by one.
    TERN_TEST_QEMU="-smp 1 -cpu max,-erms,-fsrm -icount shift=0,sleep=off" exec "$here/virtual/run.sh" "$place" \
        "${TERN_TEST_VIRTUAL_LIMIT:-300}" sh -c "busybox insmod $build/module/tern.ko && $build/count-test"
fi

# Compiled as the tests of the crates are, so that what it needs is there.
binary=$(cd "$root" && cargo test --workspace --features tern-hca/conformance --test module --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')
[ -n "$binary" ] || { echo "the test of region was not built"; exit 1; }
(cd "$root" && cp "$binary" "$build/region-test")
cc -O1 -g -Wall -Wextra -Werror -I"$prefix/include" "$here/region/library.c" -o "$build/library-test" -L"$prefix/lib" \
    -Wl,-rpath,"$prefix/lib" -ltern_region

# Those of mpi4py's test modules that move data between processes.
mpi4py="test_p2p_buf test_p2p_obj test_cco_buf test_cco_vec test_rma test_rma_nb test_win test_util_pkl5"
case ${TERN_TEST_KMOD:-} in
deep)
    python=$("$here/mpi4py-build.sh" "$prefix")
    collectives=yes limit=3600 calls=100000 seeds="1 2 3" TERN_TEST_KERNEL="slub_debug=FZPU page_poison=1"
    programs="p2p_types p2p_segments p2p_modes p2p_published p2p_cancel p2p_columns p2p_complete p2p_fork p2p_fork_edge p2p_fork_pending
        p2p_late p2p_order p2p_partitioned p2p_persistent p2p_reuse p2p_sendrecv p2p_truncate p2p_many_waiting coll_intra coll_region coll_vector
        rma_displaced rma_dynamic rma_fork rma_gathered rma_locks rma_put_get rma_random rma_requests rma_rows rma_types rma_windows type_construct thread_pairs"
    ;;
*)
    collectives=no limit=480 calls=4000 seeds=$(date +%s) TERN_TEST_KERNEL=
    programs="p2p_types p2p_segments p2p_modes p2p_published p2p_many_waiting coll_region rma_displaced rma_dynamic rma_put_get rma_random"
    ;;
esac
export TERN_TEST_KERNEL
# shellcheck disable=SC2086
TERN_TEST_DIR=$build/programs TERN_TEST_STEP=compile "$here/run.sh" "$prefix" $programs p2p_reuse request_offload coll_region_v coll_mixed > "$build/log" || { cat "$build/log"; exit 1; }

code=0
# shellcheck disable=SC2086
"$here/virtual/run.sh" "$place" "${TERN_TEST_VIRTUAL_LIMIT:-$limit}" \
    "$here/kmod/inside.sh" "$build" "$prefix" "$collectives" "$programs" "$calls" $seeds || code=$?
if [ "$collectives" = yes ]; then
    # One processor: of two, the one whose rank waits takes the time of the other one here.
    TERN_TEST_QEMU="-smp 1" "$here/virtual/run.sh" "$place" "${TERN_TEST_VIRTUAL_LIMIT:-$limit}" \
        "$here/kmod/mpi4py.sh" "$build" "$prefix" "$python" 900 $mpi4py || code=$?
    echo "SKIP mpi4py with the kernel module: its other test modules"
    echo "0 passed, 0 failed, 1 skipped"
fi
exit "$code"
