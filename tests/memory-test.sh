#!/bin/sh
# Promoted memory, and memory that is sent between nodes. Where the memory or the processor of a control group are short: what is freed goes back before a rank is
# killed for want of it; a fork that cannot have its copy is refused, and no process sees another's stores; so where
# the child is slow.
# Usage: tests/memory-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
place=$(mktemp -d)
memory=
cpu=
remove() {
    for group in "$memory" "$cpu"; do
        # The kernel may still have a process of it.
        [ -z "$group" ] || rmdir "$group" 2> /dev/null || { sleep 1; rmdir "$group"; } || true
    done
    rm -rf "$place"
}
trap remove EXIT
trap 'exit 130' INT TERM
export TERN_PROMOTE=always

for program in freed fork; do
    "$prefix/bin/mpicc" -O1 -Wall -o "$place/$program" "$here/memory/$program.c"
done

# group CONTROLLER FILE-OF-VERSION-1 FILE-OF-VERSION-2: makes a control group that has the file; leaves it in `made`, or nothing.
group() {
    made=
    for try in "/sys/fs/cgroup/$1/tern-memory-$$ $2" "/sys/fs/cgroup/tern-memory-$$-$1 $3"; do
        folder=${try% *} file=${try#* }
        mkdir "$folder" 2> /dev/null || continue
        if [ -e "$folder/$file" ] && sh -c "echo \$\$ > '$folder/cgroup.procs'" 2> /dev/null; then
            made=$folder
            return
        fi
        rmdir "$folder"
    done
}

# within GROUP LABEL PATTERN COMMAND...: it ends with 0, and a line of what it says matches the pattern. Without promoted
# memory nothing is tested.
within() {
    where=$1 label=$2 pattern=$3
    shift 3
    code=0
    timeout --kill-after=5 60 sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$where" "$@" \
        < /dev/null > "$place/said" 2>&1 || code=$?
    if [ "$code" -eq 0 ] && grep -q '^promoted: 0' "$place/said"; then
        skip "$label" "the kernel, or a container, refuses promotion"
    elif [ "$code" -eq 0 ] && grep -q -e "$pattern" "$place/said"; then
        ok "$label"
    else
        fail "$label" "exit code $code, wanted a line with: $pattern"
        sed 's/^/    /' "$place/said"
    fi
}
none() {
    skipped=$((skipped + $2))
    echo "SKIP $1: this user may not make such a control group"
}

group memory memory.limit_in_bytes memory.max
memory=$made
if [ -n "$memory" ]; then
    [ ! -e "$memory/memory.swap.max" ] || echo 0 > "$memory/memory.swap.max"
    limit=$memory/memory.max
    [ -e "$limit" ] || limit=$memory/memory.limit_in_bytes
    echo $((400 << 20)) > "$limit"
    # With the 40 MiB of the buffer it is too much.
    within "$memory" "400 MiB: freed memory goes back" "^promoted: 1" "$prefix/bin/mpiexec" -n 2 "$place/freed" 40 372
    within "$memory" "400 MiB, a fork: the child has a copy" "^fork: child ended with 0$" \
        "$prefix/bin/mpiexec" -n 2 "$place/fork" 40 100
    within "$memory" "400 MiB, a fork without memory for a copy: refused" "^fork: no memory$" \
        "$prefix/bin/mpiexec" -n 2 "$place/fork" 40 290
else
    none "memory of 400 MiB" 3
fi

group cpu cpu.cfs_quota_us cpu.max
cpu=$made
if [ -n "$cpu" ]; then
    if [ -e "$cpu/cpu.max" ]; then
        echo 30000 100000 > "$cpu/cpu.max"
    else
        echo 30000 > "$cpu/cpu.cfs_quota_us"
    fi
    within "$cpu" "30 % of a processor, a fork: the child has a copy" "^fork: child ended with 0$" \
        "$prefix/bin/mpiexec" -n 2 "$place/fork" 80 0
else
    none "30 % of a processor" 1
fi

# Memory that others hold or watch, forks that can open nothing, limits of address space: promoted at the first use, and by each
# mechanism. (By default they run with the other C programs.)
programs="memory_hidden_ring memory_watch_nodes memory_remap_nodes memory_fork_blind memory_limit memory_lack memory_slack
    memory_refused file_refused"
export TERN_TEST_DIR="$place/programs"
each() {
    echo "-- $*"
    # shellcheck disable=SC2086
    env "$@" "$here/run.sh" "$prefix" $programs > "$place/said" 2>&1 || true
    grep -v '^ok ' "$place/said" | sed '$d'
    add
}
each TERN_PROMOTE=always
for mechanism in pipe cma mapped; do
    each TERN_PROMOTE=always TERN_MECHANISM="$mechanism" TERN_WATCH=off
done
# Between nodes a collective that one member refuses goes another way, and so do accumulates. Memory is promoted there too.
# memory_slack is left out: it is about the room that promotion and views leave to a program, and messages between nodes need neither.
programs="memory_refused file_refused memory_hidden_ring memory_fork_blind memory_lack"
each TERN_PROMOTE=auto TERN_TEST_NODES=2 TERN_NETWORK=tcp
each TERN_PROMOTE=auto TERN_TEST_NODES=2
# As with a card: what is registered is watched. A program's own userfaultfd gets EBUSY then.
programs="memory_moved memory_realloc memory_limit"
each TERN_PROMOTE=auto TERN_FAULTS=pins TERN_TEST_NODES=2

sums
