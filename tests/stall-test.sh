#!/bin/sh
# TERN_STALL: jobs that wait for ever are explained, by themselves and when mpiexec is asked.
# Usage: tests/stall-test.sh PREFIX
# Times only bound how long a test waits for what must come.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
place=$(mktemp -d)
launcher=
trap '[ -z "$launcher" ] || kill -9 "$launcher" 2> /dev/null; rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
patience=20

"$prefix/bin/mpicc" -Wall -o "$place/stall" "$here/debug/stall.c"

# said TEXT: a line of the output matches; waits for it.
said() {
    tries=$((patience * 20))
    while ! grep -q -e "$1" "$place/said"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}

finish() {
    kill "$launcher" 2> /dev/null || true
    wait "$launcher" 2> /dev/null || true
    launcher=
}

# Reads lines that must be said, and reports.
expect() {
    missing=
    while read -r line; do
        said "$line" || { missing=$line; break; }
    done
    finish
    if [ -z "$missing" ]; then
        ok "$1"
    else
        fail "$1" "no line matches: $missing"
        sed 's/^/    /' "$place/said"
    fi
}

# start STALL RANKS WAY ARGUMENT...: with these arguments of mpiexec.
start() {
    stall=$1 ranks=$2 way=$3
    shift 3
    # What the job before has said would be taken for this one's, which the shell begins only later.
    : > "$place/said"
    TERN_STALL=$stall "$prefix/bin/mpiexec" -n "$ranks" "$@" "$place/stall" "$way" < /dev/null > "$place/said" 2>&1 &
    launcher=$!
}

start 300ms 2 head-to-head
expect 'two ranks that receive first' << 'LINES'
^mpiexec: nothing has moved for .* at rank [01] (TERN_STALL)$
rank 0: in MPI_Recv for .*: waits for a message from rank 1, tag 5, up to 4 bytes, MPI_COMM_WORLD$
rank 1: in MPI_Recv for .*: waits for a message from rank 0, tag 5, up to 4 bytes, MPI_COMM_WORLD$
^  deadlock: rank 0 and rank 1 wait for each other$
LINES

start 300ms 3 head-to-head
expect 'a circle of three' << 'LINES'
^  deadlock: ranks 0, 1 and 2 wait in a circle
LINES

start 300ms 3 computes
expect 'one rank computes' << 'LINES'
: in MPI_Barrier for .*: waits for rank 2 to come to it, MPI_COMM_WORLD$
rank 2: not in MPI for [0-9.]* s, last in MPI_Comm_size$
LINES

start 300ms 2 wrong-tag
expect 'a message with another tag' << 'LINES'
rank 1: in MPI_Recv for .*: waits for a message from rank 0, tag 2, up to 100 bytes, the exchange$
besides, has not received the message from rank 0, tag 1, 100 bytes, the exchange$
LINES

start 300ms 2 polls
expect 'one rank looks again and again' << 'LINES'
rank 0: in MPI_Send for .*: waits for rank 1 to receive, tag 7, 1048576 bytes, MPI_COMM_WORLD$
rank 1: calls MPI_Iprobe again and again, for
LINES

start 300ms 2 any
expect 'requests of which one is enough' << 'LINES'
rank 0: in MPI_Waitany for .*: waits for one of$
a message from rank 1, tag 1, up to 4 bytes, MPI_COMM_WORLD$
LINES

start 300ms 2 collective
expect 'a collective that not all call' << 'LINES'
rank 1: in MPI_Bcast for .*: waits for a message from rank 0, .*a collective on MPI_COMM_WORLD$
LINES

start 300ms 1 spawned
expect 'processes that were spawned' << 'LINES'
^  ranks 1 to 2 are ranks 0 to 1 of spawn 1$
rank 0: in MPI_Recv for .*: waits for a message from rank 2, tag 1, up to 4 bytes
rank.* 2: in MPI_Finalize for .*: waits for rank 0 to come to it$
besides, has not received the message from rank 0, tag 0, 4 bytes, MPI_COMM_PARENT$
^  deadlock: rank 0 and rank 2 wait for each other$
LINES

start 300ms 2 locked
expect 'a lock that another rank has alone' << 'LINES'
rank 0: in MPI_Recv for .*: waits for a message from rank 1, tag 3, up to 4 bytes, MPI_COMM_WORLD$
besides, has the lock of rank 1 of the window counters alone$
rank 1: in MPI_Win_lock for .*: waits for the lock of rank 1 of the window counters, which rank 0 has alone$
^  deadlock: rank 0 and rank 1 wait for each other$
LINES

start 300ms 3 shared
expect 'a lock that other ranks share' << 'LINES'
rank 0: not in MPI for [0-9.]* s, last in MPI_Barrier$
rank 1: in MPI_Barrier for .*: waits for rank
besides, has the lock of all ranks of the window counters, shared$
rank 2: in MPI_Win_lock for .*: waits for the lock of rank 2 of the window counters, which ranks 0 and 1 share$
LINES

start 300ms 3 lock_all
expect 'a lock of all ranks, of which one is taken' << 'LINES'
ranks* 0\(, 1\)*: in MPI_Win_lock_all for .*: waits for the lock of rank 0 of the window counters, which rank 2 has alone$
ranks* \(0, \)*1: in MPI_Win_lock_all for .*: waits for the lock of rank 0 of the window counters, which rank 2 has alone$
LINES

# Between nodes, where a lock is a word that the network card changes, or is granted by its owner. Who has it may compute.
for network in software tcp ofi; do
    if [ "$network" = ofi ] && ! "$prefix/bin/tern-info" networks | grep -q 'tcp;ofi_rxm'; then
        skip "locks of ranks on other nodes, ofi" "libfabric is not there, or without tcp;ofi_rxm"
        continue
    fi
    set -- -x "TERN_NETWORK=$network" -x 'TERN_OFI_PROVIDER=tcp;ofi_rxm'
    start 300ms 2 locked --nodes 2 "$@"
    expect "a lock of a rank on another node, $network" << 'LINES'
besides, has the lock of rank 1 of the window counters alone$
rank 1: in MPI_Win_lock for .*: waits for the lock of rank 1 of the window counters, which rank 0 has alone$
^  deadlock: rank 0 and rank 1 wait for each other$
LINES

    start 300ms 3 held --nodes 3 "$@"
    expect "a lock that one has who computes, $network" << 'LINES'
rank 0: not in MPI for [0-9.]* s, last in MPI_Barrier$
ranks* 1\(, 2\)*: in MPI_Win_lock for .*: waits for the lock of rank 2 of the window counters, which rank 0 has alone$
LINES

    start 300ms 3 shared --nodes 3 "$@"
    expect "a lock that others share, of whom one computes, $network" << 'LINES'
rank 0: not in MPI for [0-9.]* s, last in MPI_Barrier$
rank 2: in MPI_Win_lock for .*: waits for the lock of rank 2 of the window counters, which ranks 0 and 1 share$
LINES

    start 300ms 3 all_shared --nodes 3 "$@"
    expect "a lock of all ranks that one has who computes, $network" << 'LINES'
rank 0: not in MPI for [0-9.]* s, last in MPI_Barrier$
rank 2: in MPI_Win_lock for .*: waits for the lock of rank 1 of the window counters, which rank 0 shares$
LINES

    start 300ms 3 lock_all --nodes 3 "$@"
    expect "a lock of all ranks, of which one who computes has one, $network" << 'LINES'
rank 2: not in MPI for [0-9.]* s, last in MPI_Barrier$
: in MPI_Win_lock_all for .*: waits for the lock of rank 0 of the window counters, which rank 2 has alone$
LINES

    # The attempts of one wait are one wait. Each of the two that wait tells it, unless the other one has asked it before.
    if [ "$network" != tcp ]; then
        start 300ms 3 held --nodes 3 "$@"
        said '^mpiexec: nothing has moved' || true
        sleep 2
        finish
        told=$(grep -c '^mpiexec: nothing has moved' "$place/said" || true)
        case $told in
            1 | 2) ok "a wait for a lock is told once, $network" ;;
            *) fail "a wait for a lock is told once, $network" "told $told times by two ranks" ;;
        esac
    fi

    # What no network card serves, the owner has to, and nobody else knows who has it.
    case $network in
        software) which='0 has alone' ;;
        tcp) which='1 can only grant when it calls MPI' ;;
        *) which='\(0 has alone\|1 can only grant when it calls MPI\)' ;;
    esac
    start 300ms 3 absent --nodes 3 "$@"
    expect "a lock of a rank that computes, as who has it does, $network" << LINES
ranks 0, 1: not in MPI for [0-9.]* s, last in MPI_Barrier\$
rank 2: in MPI_Win_lock for .*: waits for the lock of rank 1 of the window counters, which rank $which\$
LINES

    # The tries at a lock of all ranks move something at rank 0 again and again, so that it may tell nothing by itself.
    start 300ms 3 left --nodes 3 "$@"
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        sleep 1
        ! grep -q 'which rank 1 shares$' "$place/said" || break
        kill -USR1 "$launcher"
    done
    expect "a lock that one of two has given up meanwhile, $network" << 'LINES'
rank 1: not in MPI for [0-9.]* s, last in MPI_Barrier$
rank 2: in MPI_Win_lock for .*: waits for the lock of rank 2 of the window counters, which rank 1 shares$
LINES
done

# What has no launcher tells the user itself.
: > "$place/said"
TERN_STALL=300ms LD_LIBRARY_PATH="$prefix/lib" "$place/stall" head-to-head < /dev/null > "$place/said" 2>&1 &
launcher=$!
expect 'a process without a launcher' << 'LINES'
^tern: warning: nothing has moved for 300ms (TERN_STALL)$
in MPI_Recv for .*: waits for a message from rank 0, tag 5
LINES

start 1h 2 computes
said '^computes$' || true
kill -USR1 "$launcher"
expect 'SIGUSR1 to mpiexec' << 'LINES'
^mpiexec: what the ranks wait for (SIGUSR1)$
rank 0: in MPI_Barrier for .*: waits for rank 1 to come to it
LINES

sums
