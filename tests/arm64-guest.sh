#!/bin/sh
# Tern on arm64 with a kernel of its own: Debian's kernels for arm64 in a virtual machine, whose processor QEMU emulates. So CMA, userfaultfd, memfd and
# futex are those of Linux, which qemu-user does not have. An emulator on x86-64 keeps the order of memory that x86-64 keeps: docs/orderings.md is about that.
# Usage: tests/arm64-guest.sh PREFIX [KIND...]
#   PREFIX  an installed Tern for arm64; the machine has what a Debian package that is made of it holds
#   KIND    of kernel: arm64 (pages of 4 KiB), arm64-16k [both]
#   NAMES                     C programs under tests/c, or `all` [about a dozen each of messages, collectives and windows, and of the rest some]
#   TERN_TEST_ONCE, TERN_TEST_MOST_RANKS   as for run.sh
#   TERN_TEST_BINARIES        programs of arm64 that are tests of crates, which run there too [none]
#   TERN_TEST_VIRTUAL_LIMIT   seconds for a machine, from power on to power off [1800]
# What cannot be had here is skipped, aloud. Packages of Debian: qemu-system-arm, gcc-aarch64-linux-gnu, gfortran-aarch64-linux-gnu.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX [KIND...]"}" && pwd)
shift
[ $# -gt 0 ] || set -- arm64 arm64-16k
. "$here/common.sh"
make_place

names=${NAMES:-abi_plain attr_comm p2p_modes p2p_types p2p_large p2p_order p2p_segments p2p_published p2p_cancel p2p_complete p2p_fork p2p_late
    p2p_partitioned p2p_reuse p2p_sendrecv p2p_truncate p2p_many_waiting p2p_by_kernel coll_intra coll_inter coll_types coll_region coll_region_v
    coll_shared coll_vector coll_neighbor coll_mixed coll_overlap coll_roots coll_ways rma_accumulate rma_computing rma_displaced rma_dynamic rma_fork
    rma_gathered rma_locks rma_put_get rma_random rma_requests rma_swap rma_types rma_windows op_predefined op_user pack_external type_construct
    topo_cart comm_create comm_threads dyn_spawn dyn_ports file_view file_shared memory_realloc memory_moved memory_random session_many thread_pairs
    thread_levels info_keys}
if [ "$names" = all ]; then
    names=$(cd "$here/c" && for file in *.c; do echo "${file%.c}"; done)
fi

# prepared KIND: whether there is a machine of that kind, in $machine.
prepared() {
    machine=$root/target/virtual-$1
    if ! command -v aarch64-linux-gnu-gcc > /dev/null; then
        skip "$1" "aarch64-linux-gnu-gcc is missing (Debian: gcc-aarch64-linux-gnu)"
        return 1
    fi
    code=0
    why=$("$here/virtual/prepare.sh" "$machine" "$1") || code=$?
    case $code in
        0) return ;;
        77) skip "$1" "no virtual machine: ${why##*
}" ;;
        *) evidence=$place/why && echo "$why" > "$evidence" && fail "$1: the machine is not made" ;;
    esac
    return 1
}

# What the machine shall have: the package's files, the tests, and the programs.
fill() {
    rm -rf "$machine/root/usr/lib/aarch64-linux-gnu/tern" "$machine/root/tern"
    dpkg-deb -x "$package" "$machine/root"
    mkdir -p "$machine/root/tern/tests/virtual" "$machine/root/tern/crates"
    cp -r "$here/run.sh" "$here/common.sh" "$here/c" "$machine/root/tern/tests/"
    cp "$here/virtual/arm64.sh" "$machine/root/tern/tests/virtual/"
    # shellcheck disable=SC2086
    TERN_CC=aarch64-linux-gnu-gcc TERN_TEST_STEP=compile TERN_TEST_DIR=$machine/root/tern/programs "$here/run.sh" "$prefix" $names > "$place/said" ||
        { cat "$place/said"; return 1; }
    for binary in ${TERN_TEST_BINARIES:-}; do cp "$binary" "$machine/root/tern/crates/"; done
    fortran=
    if command -v aarch64-linux-gnu-gfortran > /dev/null; then
        for program in f08_basics f08_reductions; do
            XDG_CACHE_HOME=$place "$prefix/bin/mpifort" -fc=aarch64-linux-gnu-gfortran -w "$here/fortran/$program.f90" \
                -o "$machine/root/tern/programs/$program" || return 1
            fortran="$fortran $program"
        done
    else
        skip "$1, Fortran" "aarch64-linux-gnu-gfortran is missing (Debian: gfortran-aarch64-linux-gnu)"
    fi
}

package=
for kind; do
    prepared "$kind" || continue
    [ -n "$package" ] || package=$("$root/scripts/deb.sh" "$prefix" "$place")
    if ! fill "$kind"; then
        fail "$kind: the machine is not filled"
        continue
    fi
    echo "-- $kind"
    # Shown as it comes, for it takes long.
    # shellcheck disable=SC2086
    {
        "$here/virtual/run.sh" "$machine" "${TERN_TEST_VIRTUAL_LIMIT:-1800}" \
            env TERN_TEST_ONCE="${TERN_TEST_ONCE:-no}" TERN_TEST_MOST_RANKS="${TERN_TEST_MOST_RANKS:-1000}" \
            sh /tern/tests/virtual/arm64.sh "$fortran" $names || echo "$kind: exit code $?"
    } 2>&1 | tee "$place/said" | awk '!/^[0-9]+ passed, / { print; fflush() }'
    add
done
sums
