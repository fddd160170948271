#!/bin/sh
# A host that a firewall keeps calls from: messages go by the way that is open. Where there is none, sender and receiver are told,
# though the send has succeeded. The hosts are network namespaces of this machine; skipped, aloud, where those or nft cannot be had.
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
run() { on --hosts "$hosts" -n 3 -x TERN_NETWORK=tcp -x TERN_PEER_TIMEOUT=2s "$work/unreachable" "$@"; }

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
# Rank 0 waits in MPI_Finalize and may be the first to be told.
check "likewise in MPI_Finalize" 58 "rank [01] had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive" run last
# MPI_Finalize fails too at a rank that was told nothing before: by which rank that is, the exit code is 0 or 9.
returned() {
    code=0
    run return || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 9 ]
}
check "where errors are returned, the receiver is told" 0 '^rank 2: aborted, well$' returned
# Rank 0 may have found out that it cannot call rank 2 before that one was told, and goes on.
for line in '^rank 1: well, aborted$' '^rank 0: ' 'rank 1 had sent messages to rank 2 of MPI_COMM_WORLD'; do
    if grep -q -e "$line" "$work/log"; then ok "and: $line"; else fail "and: $line"; fi
done
sums
