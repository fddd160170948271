#!/bin/sh
# Where a system refuses what Tern would like to use, the same programs run with the same results, and
# say at most one line about it: copying between processes refused as containers do, /dev/shm of
# 64 KiB, little memory, limits on file size, locked memory, descriptors and address space. What cannot run says what is
# refused, and the remedy.
# Usage: tests/limits-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
place=$(mktemp -d)
group=
trap 'rm -rf "$place"; [ -z "$group" ] || rmdir "$group" 2> /dev/null || true' EXIT
trap 'exit 130' INT TERM

# Programs whose messages go every way that there is.
programs="p2p_reuse p2p_types coll_intra"
export TERN_TEST_DIR="$place/programs"
# shellcheck disable=SC2086
if ! TERN_TEST_STEP=compile "$here/run.sh" "$prefix" $programs > "$place/said" 2>&1; then
    cat "$place/said"
    exit 1
fi

# under NAME COMMAND...: the programs, with the command before mpiexec.
under() {
    name=$1
    shift
    echo "-- $name"
    # shellcheck disable=SC2086
    TERN_TEST_STEP=run TERN_TEST_UNDER=$* TERN_TEST_WARNINGS=1 \
        "$here/run.sh" "$prefix" $programs > "$place/said" 2>&1 || true
    sed '$d' "$place/said"
    # Its last line: N passed, N failed, N skipped.
    # shellcheck disable=SC2046
    set -- $(tail -n 1 "$place/said" | tr -cd '0-9 ')
    passed=$((passed + ${1:-0}))
    failed=$((failed + ${2:-1}))
    skipped=$((skipped + ${3:-0}))
}

# Commands that set a limit and run the rest; in files, because run.sh takes words.
limit() {
    printf '#!/bin/sh\n%s\nexec "$@"\n' "$2" > "$place/$1"
    chmod +x "$place/$1"
}

"${CC:-cc}" -O1 -Wall -o "$place/refuse" "$here/limits/refuse.c"
for what in copying absent container maps; do
    if "$place/refuse" "$what" true 2> /dev/null; then
        under "system calls refused: $what" "$place/refuse" "$what"
    else
        skip "system calls refused: $what" "seccomp filters are not permitted"
    fi
done

# That the single copies do not work is said, once, when a message would have gone that way.
label="refused copying is told once"
if "$place/refuse" copying true 2> /dev/null; then
    code=0
    TERN_MECHANISM=cma timeout --kill-after=5 60 "$place/refuse" copying "$prefix/bin/mpiexec" -n 4 \
        "$place/programs/p2p_reuse" < /dev/null > "$place/said" 2>&1 || code=$?
    lines=$(grep -c '^tern.*refused' "$place/said" || true)
    if [ "$code" -eq 0 ] && [ "$lines" -eq 1 ]; then
        ok "$label"
    else
        fail "$label" "exit code $code, $lines lines"
    fi
else
    skip "$label" "seccomp filters are not permitted"
fi

limit small-shm 'mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 125'
if unshare --mount "$place/small-shm" true 2> /dev/null; then
    under "/dev/shm of 64 KiB" unshare --mount "$place/small-shm"
else
    skip "/dev/shm of 64 KiB" "this user may not make a mount namespace"
fi

# Promotion takes memory, descriptors and address space: under these limits it is asked for always.
export TERN_PROMOTE=always

# Of cgroups there are two versions.
memory=$((48 << 20))
if mkdir "/sys/fs/cgroup/memory/tern-limits-$$" 2> /dev/null; then
    group=/sys/fs/cgroup/memory/tern-limits-$$
    echo "$memory" > "$group/memory.limit_in_bytes"
elif mkdir "/sys/fs/cgroup/tern-limits-$$" 2> /dev/null; then
    group=/sys/fs/cgroup/tern-limits-$$
    echo "$memory" > "$group/memory.max" 2> /dev/null || { rmdir "$group"; group=; }
fi
limit small-group "echo \$\$ > '$group/cgroup.procs' || exit 125"
if [ -n "$group" ] && "$place/small-group" true 2> /dev/null; then
    under "a memory cgroup of 48 MiB" "$place/small-group"
else
    skip "a memory cgroup of 48 MiB" "this user may not make one with a memory limit"
fi

# Blocks of 512 bytes: more than the job's shared memory, less than what may grow in it.
limit file-size 'ulimit -f 204800'
under "files of at most 100 MiB" "$place/file-size"
limit locked 'ulimit -l 0'
under "no locked memory" "$place/locked"
# The soft limit: mpiexec raises its own, the ranks keep it.
limit descriptors 'ulimit -S -n 16'
under "16 descriptors" "$place/descriptors"
limit address-space 'ulimit -v 4000000'
under "4 GB of address space" "$place/address-space"

# Files smaller than the job's shared memory: it cannot run, and says what to raise.
limit no-files 'ulimit -f 100'
# ends LABEL WORD WORD COMMAND...: the job cannot run; one line of output has both words: what was refused, and the remedy.
ends() {
    label=$1 one=$2 other=$3
    shift 3
    code=0
    timeout --kill-after=5 60 "$@" < /dev/null > "$place/said" 2>&1 || code=$?
    if [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && grep -F -e "$one" "$place/said" | grep -q -F -e "$other"; then
        ok "$label"
    else
        fail "$label" "exit code $code, wanted a line with $one and $other"
        sed 's/^/    /' "$place/said"
    fi
}
program=$place/programs/p2p_types
ends "files of at most 50 KiB: refused, with the limit to raise" "shared memory" "ulimit -f" \
    "$place/no-files" "$prefix/bin/mpiexec" -n 2 "$program"
limit few-descriptors 'ulimit -n 32'
ends "32 descriptors: the call and the remedy" "F_DUPFD" "ulimit -n" \
    "$place/few-descriptors" "$prefix/bin/mpiexec" -n 2 "$program"

if unshare --net true 2> /dev/null; then
    for network in auto tcp; do
        ends "the loopback interface is down, $network: the address and the remedy" 127.0.0.1 "ip link set lo up" \
            unshare --net "$prefix/bin/mpiexec" -x TERN_NETWORK="$network" --nodes 2 -n 2 "$program"
    done
else
    skip "the loopback interface is down" "this user may not make a network namespace"
fi

# What neither mpiexec nor MPI_Init can do without.
for call in memfd_create signalfd4 fallocate; do
    if ! "$place/refuse" "$call" true 2> /dev/null; then
        skip "$call refused" "seccomp filters are not permitted"
        continue
    fi
    ends "$call refused: the call and the remedy" "$call" seccomp "$place/refuse" "$call" "$prefix/bin/mpiexec" -n 2 "$program"
done
if "$place/refuse" memfd_create true 2> /dev/null; then
    ends "memfd_create refused, without mpiexec" memfd_create seccomp "$place/refuse" memfd_create "$program"
    ends "fallocate refused to a rank" fallocate seccomp "$prefix/bin/mpiexec" -n 2 "$place/refuse" fallocate "$program"
else
    skip "calls refused to a program" "seccomp filters are not permitted"
fi

sums
