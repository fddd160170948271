#!/bin/sh
# A host that a firewall keeps calls from: messages go by the way that is open. Where there is none, sender and receiver are told,
# though the send has succeeded: over TCP, also to another job, over RDMA, where the send fails, and over libfabric where it is there. The hosts are
# network namespaces of this machine; skipped, aloud, where those or nft cannot be had.
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
for program in unreachable polling crowd between session; do
    "$prefix/bin/mpicc" -std=gnu11 -O1 -Wall -o "$work/$program" "$here/network/$program.c"
done

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
network=tcp tuples=auto
run() { on --hosts "$hosts" -n 3 -x TERN_NETWORK=$network -x "TERN_OFI_PROVIDER=tcp;ofi_rxm" -x TERN_PEER_TIMEOUT=2s -x TERN_TUPLEQ=$tuples "$work/unreachable" "$@"; }
poll() { on --hosts "$hosts" -n 3 -x TERN_NETWORK=$network -x "TERN_OFI_PROVIDER=tcp;ofi_rxm" -x TERN_PEER_TIMEOUT=2s "$work/polling" "$@"; }
has_ofi() { "$prefix/bin/tern-info" networks | grep -q "tcp;ofi_rxm"; }

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
for how in test status probe improbe any collective partitioned window; do
    check "likewise a receiver that does not sleep, $how" 0 '^rank 2: got 7$' poll "$how"
done
# Of more than 64 that may have sent it, some are called at a time, the sender among the first. The ranks of a host share memory.
# crowd TIMEOUT WAY
crowd() {
    on --hosts "$hosts" -n 69 --oversubscribe -x TERN_NETWORK=$network -x "TERN_OFI_PROVIDER=tcp;ofi_rxm" -x "TERN_PEER_TIMEOUT=$1" "$work/crowd" "$2"
}
for how in call look; do
    check "likewise a receiver from any of 68 ranks, $how" 0 '^the last of 69 ranks: got 7$' crowd 2s "$how"
done
# Those that are called later: by then the receiver has got some, has given up a receive, and waits in another way. A sender gives its message
# up after twice the timeout, and the last of these is called after one and a half: the rest of it is enough on a busy machine.
for way in 0 1 2 3; do
    check "likewise those whom a receiver calls later, from way $way on" 0 '^the last of 69 ranks: heard 2, 2 and 2, and 0 others$' crowd 6s turns$way
done
network=software
for how in test any; do
    check "over RDMA: likewise a receiver that does not sleep, $how" 0 '^rank 2: got 7$' poll "$how"
done
check "over RDMA: likewise a receiver from any of 68 ranks" 0 '^the last of 69 ranks: got 7$' crowd 4s look
network=ofi
if has_ofi; then
    check "over libfabric: likewise a receiver that does not sleep" 0 '^rank 2: got 7$' poll test
    check "over libfabric: likewise a receiver from any of 68 ranks" 0 '^the last of 69 ranks: got 7$' crowd 4s look
fi
network=tcp

no_way="add rule inet f out ip daddr $net.3 ct state new drop"
rules "$no_way"
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
    run "$@" || ended=$?
    [ "$ended" -eq 0 ] || [ "$ended" -eq 9 ] || { echo "exit code $ended" && return 1; }
}
# Rank 0 cannot call rank 2, and finds that before rank 2 has called it.
given_up() {
    rm -f "$work/given-up" "$work/told"
    returned given-up "$work"
}
check "where errors are returned, the receiver is told" 0 '^rank 2: aborted, well$' returned return
# Rank 0 may have found out that it cannot call rank 2 before that one was told, and goes on.
said '^rank 1: well, aborted$' '^rank 0: ' 'rank 1 had sent messages to rank 2 of MPI_COMM_WORLD'
check "a handler of the program's is called by MPI_Finalize while it may call MPI" 0 \
    '^handler of MPI_Finalize: class 1 of 3 ranks$' returned handler
check "a process is told that another one, which is still there, has given it up" 0 '^rank 2: aborted$' given_up

# Over RDMA, which the software HCA stands for, a send waits until its receiver was called: what cannot arrive is not sent. A published
# receive has its sender called at once, so the receiver may be the first to be told. Without that it only waits.
network=software
check "over RDMA: no way at all ends the job" 58 \
    "MPI_[A-Z][a-z]* failed in rank [0-2] .*cannot be reached any more: it cannot be reached at $net.[234]:" run
tuples=off
check "over RDMA: the send fails" 58 \
    "MPI_Send failed in rank 1 .*rank 2 of MPI_COMM_WORLD, on node 2, cannot be reached any more: it cannot be reached at $net.4:" run
said 'MPI_ERR_PROC_ABORTED'
for how in buffered freed; do
    check "over RDMA: likewise, $how" 58 "rank 1 had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive" run $how
done
check "over RDMA: likewise as the last call" 58 "MPI_Send failed in rank 1 .*cannot be reached any more" run last
check "over RDMA: where errors are returned, both are told" 0 '^rank 2: aborted, ' returned return
said '^rank 1: aborted, '
check "over RDMA: a handler of the program's is called" 0 '^handler: class 1 of 3 ranks$' returned handler
tuples=auto

# Processes of another job are called when the jobs meet, so the way is cut behind that: between the first host and the second.
ip netns exec "${name}c" nft "flush ruleset"
# cut_off ADDRESS: the rules of a host that cut its way to that one.
cut_off() {
    echo "add table inet f
    add chain inet f in { type filter hook input priority 0; }
    add chain inet f out { type filter hook output priority 0; }
    add rule inet f in ip saddr $1 drop
    add rule inet f out ip daddr $1 drop"
}
# two HOW: the exit code is that of the first job.
two() {
    ip netns exec "${name}a" nft "flush ruleset"
    rm -f "$work/port"
    on --hosts "${name}b,${name}c" -n 2 -x TERN_PEER_TIMEOUT=2s "$work/between" second "$work/port" > "$work/second" 2>&1 &
    second=$!
    ended=0
    on --hosts "${name}a" -n 1 -x TERN_PEER_TIMEOUT=2s -x "CUT=nft '$(cut_off "$net.3")'" "$work/between" first "$1" "$work/port" || ended=$?
    wait "$second" || true
    cat "$work/second"
    return "$ended"
}
check "a process of another job: the sender, whose send has succeeded, is told" 58 \
    "rank 0 had sent messages to rank 0 of another job ([0-9a-f]*), by calls.*will never arrive" two fatal
said 'The job ends with code 58 (MPI_ERR_PROC_ABORTED)' '^second job, rank 0: aborted$'
check "likewise, where errors are returned on that communicator alone" 0 '^first job: aborted$' two return
said 'rank 0 had sent messages to rank 0 of another job' '^second job, rank 0: aborted$'
check "likewise in MPI_Finalize, by the handler of that communicator" 9 '^handler: class 1 of 2 ranks there$' two handler

ip netns exec "${name}a" nft "flush ruleset"
# Sessions alone: the way between the second host and the third is cut, when all have met.
sessions() {
    ip netns exec "${name}b" nft "flush ruleset"
    on --hosts "$hosts" -n 3 -x TERN_NETWORK=tcp -x TERN_PEER_TIMEOUT=2s -x "CUT=nft '$(cut_off "$net.4")'" "$work/session" "$1"
}
check "sessions: the last MPI_Session_finalize fails" 9 '^rank 1: MPI_Session_finalize: aborted$' sessions return
said 'rank 1 had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive' '^rank 2: aborted$'
check "sessions: likewise, by the handler of the session" 9 '^handler: class 1, the session is there$' sessions handler
check "sessions: the handler of the communicator ends the job" 58 'The job ends with code 58 (MPI_ERR_PROC_ABORTED)' sessions fatal
ip netns exec "${name}b" nft "flush ruleset"

rules "$no_way"

# Over libfabric each process calls those that it sends to.
network=ofi
if ! has_ofi; then
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
check "over libfabric: a process is told that another one, which is still there, has given it up" 0 '^rank 2: aborted$' given_up
sums
