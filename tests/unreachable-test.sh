#!/bin/sh
# A host that a firewall keeps calls from: messages go by the way that is open. Where there is none, sender and receiver are told,
# though the send has succeeded: over TCP, and over libfabric where it is there. The hosts are network namespaces of this machine;
# skipped, aloud, where those or nft cannot be had.
# Usage: tests/unreachable-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
name=ternu$$
net=10.$((150 + $$ % 50)).$(($$ / 50 % 250))
if ! command -v nft > /dev/null; then
    echo "SKIP: there is no nft (Debian: nftables)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
. "$here/hosts/three.sh"
"$prefix/bin/mpicc" -std=gnu11 -O1 -Wall -o "$work/unreachable" "$here/network/unreachable.c"

# What the third host lets in and out of new connections, beside those of mpiexec, which are with the machine itself.
rules() {
    ip netns exec "${name}c" nft "flush ruleset
        add table inet f
        add chain inet f in { type filter hook input priority 0; policy drop; }
        add rule inet f in iif lo accept
        add rule inet f in ip saddr $net.1 accept
        add rule inet f in ct state established,related accept
        add chain inet f out { type filter hook output priority 0; policy accept; }
        $1"
}
network=tcp
run() { on --hosts "$hosts" -n 3 -x TERN_NETWORK=$network -x "TERN_OFI_PROVIDER=tcp;ofi_rxm" -x TERN_PEER_TIMEOUT=2s "$work/unreachable" "$@"; }

# said LINE...: what matched in the log of the last check, each as a test of its own.
said() {
    for line in "$@"; do
        if grep -q -e "$line" "$work/log"; then ok "and: $line"; else fail "and: $line"; fi
    done
}

if ! rules '' 2> "$work/why"; then
    skip "a host behind a firewall" "nft: $(head -n 1 "$work/why")"
    sums
    exit
fi
check "the receiver calls, where the sender cannot" 0 '^rank 2: well, well$' run
check "likewise in MPI_Finalize" 0 '' run last

rules "add rule inet f out ip daddr $net.3 ct state new drop"
check "no way at all: the sender, whose send has succeeded, is told" 58 \
    "rank 1 had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive: it cannot be reached over TCP: $net.4:" run
check "likewise of a buffered send" 58 "rank 1 had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive" run buffered
check "likewise of a send whose request was freed" 58 "rank 1 had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive" run freed
said 'The job ends with code 58 (MPI_ERR_PROC_ABORTED)'
# Rank 0 waits in MPI_Finalize and may be the first to be told.
check "likewise in MPI_Finalize" 58 "rank [01] had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive" run last
# MPI_Finalize fails too at a rank that was told nothing before: by which rank that is, the exit code is 0 or 9.
returned() {
    ended=0
    run "$1" || ended=$?
    [ "$ended" -eq 0 ] || [ "$ended" -eq 9 ]
}
check "where errors are returned, the receiver is told" 0 '^rank 2: aborted, well$' returned return
# Rank 0 may have found out that it cannot call rank 2 before that one was told, and goes on.
said '^rank 1: well, aborted$' '^rank 0: ' 'rank 1 had sent messages to rank 2 of MPI_COMM_WORLD'
check "a handler of the program's is called by MPI_Finalize while it may call MPI" 0 \
    '^handler of MPI_Finalize: class 1 of 3 ranks$' returned handler

# Over libfabric each process calls those that it sends to.
network=ofi
if ! "$prefix/bin/tern-info" networks | grep -q "tcp;ofi_rxm"; then
    skip "libfabric" "it is not there, or without tcp;ofi_rxm"
    sums
    exit
fi
left='packets* still waits* for it: see whether a firewall is in the way, or name the interface (TERN_INTERFACE)'
check "over libfabric: the sender, whose send has succeeded, is told" 58 \
    "rank 1 had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive: it cannot be reached over tcp;ofi_rxm, and .* $left" run
said 'The job ends with code 58 (MPI_ERR_PROC_ABORTED)'
for how in buffered freed last; do
    check "over libfabric: likewise, $how" 58 "rank [01] had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive" run $how
done
check "over libfabric: where errors are returned, the receiver is told" 0 '^rank 2: aborted, ' returned return
said '^rank 1: well, aborted$' 'rank 1 had sent messages to rank 2 of MPI_COMM_WORLD'
sums
