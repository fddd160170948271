#!/bin/sh
# Tests on processors that this machine does not have, by qemu-user: arm64, and x86-64 without AVX. An emulator on x86-64 keeps the order of memory
# that x86-64 keeps, so nothing here shows that orderings are right where a processor keeps less of it: docs/orderings.md is about that.
# Usage: scripts/emulated.sh arm64 [PART...]     crates, programs, pages, fortran [all of them]
#        scripts/emulated.sh x86 PREFIX          the programs, on a processor without AVX; PREFIX is an installed Tern
#   PROFILE  cargo's, for arm64 [release; tests of crates: test]
#   NAMES    C programs under tests/c, or `all` [one or two of each kind]
#   DONE     a file of what has run: programs that it names are left out, and those that run are added. A list of hours may be stopped and go on
#   CRATES   whose tests run on arm64, without `tern-` [those that an emulator has enough for]
# What cannot be had here is skipped, aloud. Packages of Debian: qemu-user, qemu-user-binfmt, gcc-, g++- and gfortran-aarch64-linux-gnu.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/tests
. "$here/common.sh"
make_place
case ${1:-} in
    arm64 | x86) kind=$1 ;;
    *) echo "usage: $0 arm64 [PART...] | x86 PREFIX" >&2; exit 2 ;;
esac
shift

# Each kind of communication, and what depends on the machine: cells, blocks, regions, atomic instructions, long double, signals, forks.
# Programs that want copies by the kernel are not among them: qemu-user has no process_vm_readv.
names=${NAMES:-abi_plain attr_comm coll_intra coll_types coll_region coll_shared coll_vector comm_create comm_threads dyn_spawn errhandler_user
    file_view info_keys memory_realloc op_predefined op_user p2p_modes p2p_large p2p_order p2p_fork pack_external rma_accumulate
    rma_locks rma_put_get rma_swap session_many thread_pairs topo_cart type_construct}
[ "$names" != all ] || names=$(cd "$here/c" && for file in *.c; do echo "${file%.c}"; done)

# wants COMMAND PACKAGE: or everything is skipped.
wants() {
    command -v "$1" > /dev/null && return
    skip "$kind" "$1 is missing (Debian: $2)"
    sums
    exit 0
}

# The C programs, each shown as it ends, and the sums of what has run.
programs() {
    # Under an emulator all takes ten times as long and more.
    export TERN_TEST_PATIENCE="${TERN_TEST_PATIENCE:-10}"
    for name; do
        ! grep -q "^[A-Za-z]*  *${name}[,:]" "${DONE:-/dev/null}" 2> /dev/null || continue
        TERN_TEST_DIR=$place/c "$here/run.sh" "$prefix" "$name" > "$place/said" 2>&1 || true
        sed '$d' "$place/said" | tee -a "${DONE:-/dev/null}"
        add
    done
}

if [ "$kind" = x86 ]; then
    prefix=$(cd "${1:?"usage: $0 x86 PREFIX"}" && pwd)
    wants qemu-x86_64 qemu-user
    export TERN_TEST_INSIDE="qemu-x86_64 -cpu qemu64"
    # shellcheck disable=SC2086
    programs $names
    sums
    exit
fi

triple=aarch64-unknown-linux-gnu
libraries=/usr/aarch64-linux-gnu
wants qemu-aarch64 qemu-user
wants aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
if ! rustup target list --installed 2> /dev/null | grep -q "$triple"; then
    skip "$kind" "Rust has no library for it: rustup target add $triple"
    sums
    exit 0
fi

# Linux starts programs of arm64 where somebody has told it by what, and since 6.7 a namespace of users may be told for itself alone.
binaries=/proc/sys/fs/binfmt_misc
tell="mount -t binfmt_misc binfmt_misc $binaries && printf %s \
':qemu-aarch64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\
\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:$(command -v qemu-aarch64):PF' > $binaries/register"
if ! grep -q enabled "$binaries/qemu-aarch64" 2> /dev/null && [ -z "${TERN_EMULATED_INSIDE:-}" ] && unshare -r -m sh -c "$tell" 2> /dev/null; then
    rm -rf "$place"
    TERN_EMULATED_INSIDE=yes exec unshare -r -m sh -c "$tell"' && exec "$@"' sh "$root/scripts/emulated.sh" arm64 "$@"
fi
export QEMU_LD_PREFIX=$libraries
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L $libraries"
export EMULATOR="qemu-aarch64 -L $libraries"
export TERN_CC=aarch64-linux-gnu-gcc
cd "$root"
profile=${PROFILE:-release}
built=${CARGO_TARGET_DIR:-target}/$triple/$profile
# Cargo's folder of the profile dev.
[ "$profile" != dev ] || built=${CARGO_TARGET_DIR:-target}/$triple/debug
prefix=$root/target/prefix-aarch64

# Whether the kernel starts programs of arm64: mpiexec starts programs, and they others.
starts() {
    grep -q enabled "$binaries/qemu-aarch64" 2> /dev/null && return
    skip "$1" "this kernel starts no programs of arm64 (Debian: qemu-user-binfmt), nor may it be told to in a namespace"
    return 1
}

install_it() {
    [ -z "${installed:-}" ] || return 0
    cargo build --profile "$profile" --workspace --target "$triple" > "$place/log" 2>&1 && scripts/install.sh "$built" "$prefix" >> "$place/log" 2>&1 || {
        evidence=$place/log
        fail "the build for arm64"
        sums
        exit 1
    }
    installed=yes
}

# The crates whose code knows the machine. Others want what an emulator lacks (userfaultfd, process_vm_readv, namespaces).
crates=${CRATES:-copy counters settings policy layout node device coll}
# Waits for what the kernel knows of a connection (TCP_INFO), of which qemu-user gives four bytes.
without=a_peer_without_room_is_not_silent
run_crates() {
    skip "tern-node: $without" "qemu-user has no TCP_INFO"
    for name in $crates; do
        # shellcheck disable=SC2086
        if cargo test -q ${PROFILE:+--profile $PROFILE} --target "$triple" -p "tern-$name" --lib --tests -- --skip "$without" > "$place/log" 2>&1; then
            ok "tests of tern-$name: $(awk '/^test result: ok/ { n += $4; s += $8 } END { print n + 0 " passed, " s + 0 " ignored" }' "$place/log")"
        else
            evidence=$place/log
            fail "tests of tern-$name"
        fi
    done
}

# Pages of 16 and of 64 KiB: the emulator says to programs that they are so long, and places mappings so.
run_pages() {
    for page in 16384 65536; do
        echo "-- pages of $page bytes"
        export QEMU_PAGESIZE="$page"
        DONE='' programs abi_plain p2p_modes rma_put_get coll_shared dyn_ports
    done
    unset QEMU_PAGESIZE
}

run_fortran() {
    if ! command -v aarch64-linux-gnu-gfortran > /dev/null; then
        skip fortran "aarch64-linux-gnu-gfortran is missing (Debian: gfortran-aarch64-linux-gnu)"
        return
    fi
    for program in f08_basics f08_reductions; do
        evidence=$place/log
        if XDG_CACHE_HOME=$place "$prefix/bin/mpifort" -fc=aarch64-linux-gnu-gfortran -w "$here/fortran/$program.f90" -o "$place/program" > "$place/log" 2>&1 &&
            timeout 300 "$prefix/bin/mpiexec" -n 2 "$place/program" > "$place/log" 2>&1; then
            ok "$program, 2 ranks"
        else
            fail "$program"
        fi
    done
}

[ $# -gt 0 ] || set -- crates programs pages fortran
for part; do
    case $part in
        crates) run_crates; continue ;;
        programs | pages | fortran) ;;
        *) echo "$0: no part $part" >&2; exit 2 ;;
    esac
    starts "$part" || continue
    install_it
    case $part in
        programs)
            # shellcheck disable=SC2086
            programs $names
            ;;
        pages) run_pages ;;
        fortran) run_fortran ;;
    esac
done
sums
