#!/bin/sh
# What tests/kmod-test.sh runs inside the machine.
# Usage: tests/kmod/inside.sh BUILD PREFIX COLLECTIVES PROGRAMS CALLS SEED...
#   BUILD has the modules and the programs; COLLECTIVES: `yes` for collectives by regions alone; PROGRAMS: MPI programs that are compiled
#   there; each SEED is for CALLS random calls
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$1 prefix=$2 collectives=$3 programs=$4 calls=$5
shift 5
. "$here/common.sh"

# killed LABEL MEMBER: kills one of three ranks that copy from each other's regions. The job ends and says so; what is left shows at the end.
killed() {
    "$prefix/bin/mpiexec" -n 3 "$build/programs/coll_region" < /dev/null > "$build/killed.log" 2>&1 &
    launcher=$!
    # Each has its first region, and some have those of their data.
    until [ "$(cat /sys/class/misc/tern/regions)" -ge 6 ] || ! kill -0 "$launcher" 2> /dev/null; do sleep 0.05; done
    process=$(busybox pidof coll_region | cut -d ' ' -f "$2")
    if [ -z "$process" ] || ! kill -9 "$process"; then bad "$1: the job ended before"; fi
    if wait "$launcher"; then bad "$1: the job ended well"; else good "$1"; fi
}

# counted PROGRAM COUNTER: its sum over the 2 ranks of the last run.
counted() {
    sum=$(sed -nE "s/.*\b$2[^0-9]*([0-9]+).*/\1/p" "$build/programs/$1.2.log" | head -n 1)
    echo "${sum:-0}"
}

# copied PROGRAM BYTES: the module has copied more than that for its 2 ranks.
copied() {
    bytes=$(counted "$1" module_bytes)
    if [ "$bytes" -gt "$2" ]; then
        good "$1: the module has copied $bytes bytes"
    else
        bad "$1: the module has copied $bytes bytes"
        grep -E 'module|kernel' "$build/programs/$1.2.log" | head -n 20
    fi
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

# With nothing set, messages, collectives and windows go by the module once their memory has been used often enough. With each program: bytes
# by the module, by process_vm_readv and through mapped memory.
export TERN_TEST_STEP=run TERN_TEST_PATIENCE=5 TERN_STATS=1
by_itself() {
    for program in p2p_reuse coll_region rma_put_get; do
        echo "$1: $program: $(counted "$program" module_bytes) bytes by the module, $(counted "$program" cma_bytes) by CMA," \
            "$(counted "$program" mapped_bytes) and $(counted "$program" shared_bytes) through mapped memory"
    done
}
unset="p2p_reuse coll_region rma_put_get"
[ "$collectives" = no ] || unset="p2p_reuse $programs"
# shellcheck disable=SC2086
TERN_TEST_MOST_RANKS=2 TERN_TEST_DIR="$build/programs" "$here/../run.sh" "$prefix" $unset || failed=1
by_itself "by this machine's costs ($("$prefix/bin/tern-tune" --show | sed -n 2,3p | tr '\n' ' '))"
# The same by costs in which the module is quick.
"$here/costs.sh" > "$build/costs"
export TERN_TEST_DIR="$build/programs"
TERN_COSTS="$build/costs" TERN_TEST_MOST_RANKS=2 "$here/../run.sh" "$prefix" p2p_reuse coll_region rma_put_get || failed=1
by_itself "by costs that favour the module"
copied p2p_reuse 100000000
copied coll_region 1000000
copied rma_put_get 20000000

# What the module does not copy is not copied at all, and Tern would say so in a second line (the first one heads its counts).
echo 3 > /proc/sys/kernel/yama/ptrace_scope || bad "process_vm_readv cannot be forbidden"
# Where the kernel refuses process_vm_readv, the module alone copies, still with nothing set.
TERN_COSTS="$build/costs" TERN_TEST_MOST_RANKS=2 "$here/../run.sh" "$prefix" p2p_reuse || failed=1
copied p2p_reuse 100000000
[ "$(counted p2p_reuse cma_bytes)" = 0 ] || bad "process_vm_readv has copied what it must not"
# The module copies while neither rank calls MPI, and so does the engine; a rank that dies meanwhile leaves nothing, as is looked at in the end.
# beside BY: gives the copies of request_offload to it, which compares what has come before either rank calls MPI again.
beside() {
    log=$TERN_TEST_DIR/request_offload.2.log
    if TERN_OFFLOAD=$1 timeout 120 "$prefix/bin/mpiexec" -n 2 "$TERN_TEST_DIR/request_offload" > "$log" 2>&1; then
        good "TERN_OFFLOAD=$1: $(counted request_offload offloaded_module_bytes) bytes beside the program"
    else
        bad "TERN_OFFLOAD=$1"
        tail -n 20 "$log"
    fi
}
beside module
[ "$(counted request_offload offloaded_module_bytes)" -gt 100000000 ] || bad "the module has not copied beside the program"
dma=$(cat /sys/class/misc/tern/dma_bytes)
beside dma
[ "$(($(cat /sys/class/misc/tern/dma_bytes) - dma))" = "$(counted request_offload offloaded_dma_bytes)" ] || bad "the engine has not copied beside the program"
if OFFLOAD_DIES=1 TERN_OFFLOAD=module "$prefix/bin/mpiexec" -n 2 "$TERN_TEST_DIR/request_offload" > /dev/null 2>&1; then
    bad "a rank that dies during asynchronous copies: the job ended well"
fi
for name in contexts regions pinned_pages jobs; do
    [ "$(cat /sys/class/misc/tern/$name)" = 0 ] || bad "a rank that died during asynchronous copies has left $name"
done
export TERN_TEST_WARNINGS=1 TERN_MECHANISM=module
# shellcheck disable=SC2086
TERN_TEST_MOST_RANKS=2 "$here/../run.sh" "$prefix" $programs || failed=1
# Of messages, of messages in pieces, and of windows, of random ones too.
copied "${programs%% *}" 1000000
copied p2p_segments 30000000
copied rma_put_get 50000000
copied rma_random 400000

if [ "$collectives" = yes ]; then
    # Collectives by regions alone, also with more ranks than processors. The counts of what has gone so are checked.
    region=bcast=region,gather=region,scatter=region,allgather=region,alltoall=region,alltoallv=region
    region=$region,reduce=region,allreduce=region,reduce_scatter=region,scan=region
    TERN_TEST_MOST_RANKS=5 TERN_COLL=$region REGIONS=all "$here/../run.sh" "$prefix" coll_region coll_region_v || failed=1
    TERN_COLL=$region "$here/../run.sh" "$prefix" coll_mixed || failed=1
    for member in 1 2 3; do
        TERN_COLL=$region killed "collectives: process $member of 3 is killed" "$member"
    done
fi

at_the_end
exit "$failed"
