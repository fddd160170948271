#!/bin/sh
# A way between two hosts that is cut when messages have gone over it: a sender whose send has succeeded is told, and so is a receiver that only
# waits, over TCP, RDMA and libfabric. A process that is stopped is there all the same, and so is one that ends. The hosts are network namespaces of this
# machine; skipped, aloud, where those or nft cannot be had.
# Usage: tests/cut-test.sh PREFIX [WAY...]
#   WAY: tcp, software for RDMA by the software HCA, xrc for the same with a connection to each node, and providers of libfabric
#        [tcp software tcp;ofi_rxm; scripts/check-deep.sh has the others]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [WAY...]"}" && pwd)
shift
[ $# -gt 0 ] || set -- tcp software "tcp;ofi_rxm"
name=ternx$$
net=10.$((200 + $$ % 50)).$(($$ / 50 % 250))
if ! command -v nft > /dev/null; then
    echo "SKIP: there is no nft (Debian: nftables)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
. "$here/hosts/three.sh"
for program in cut session; do
    "$prefix/bin/mpicc" -std=gnu11 -O1 -Wall -o "$work/$program" "$here/network/$program.c"
done

# The rules of the second host that cut its way to the third.
rules="nft 'add table inet f
    add chain inet f in { type filter hook input priority 0; }
    add chain inet f out { type filter hook output priority 0; }
    add rule inet f in ip saddr $net.4 drop
    add rule inet f out ip daddr $net.4 drop'"
silence=2s
# start PROGRAM ARGUMENTS...: runs it on the three hosts over $network.
start() {
    ip netns exec "${name}b" nft "flush ruleset"
    on --hosts "$hosts" -n 3 -x "TERN_NETWORK=$network" -x "TERN_OFI_PROVIDER=$provider" -x "TERN_VERBS_TRANSPORT=$transport" -x "TERN_PEER_TIMEOUT=$silence" -x "CUT=$rules" "$@"
}
# program HOW CALLER
program() {
    rm -rf "$work/folder"
    mkdir "$work/folder"
    start "$work/cut" "$1" "$2" "$work/folder"
}
# gap CALLER: the way is there again after 5 s.
gap() {
    (
        silence=30s rules="$rules; (sleep 5; nft 'flush ruleset') > $work/mended 2>&1 &"
        program gap "$1"
    )
}
# ends TIMES: jobs in which nothing is cut.
ends() {
    for time in $(seq "$1"); do
        for caller in 1 2; do program end $caller || return; done
    done
}
# MPI_Finalize fails too at a rank that was told nothing before: by which rank that is, the exit code is 0 or 9.
returned() {
    ended=0
    "$@" || ended=$?
    [ "$ended" -eq 0 ] || [ "$ended" -eq 9 ] || { echo "exit code $ended" && return 1; }
}
# said LINE...: what matched in the log of the last check, each as a test of its own.
said() {
    for line in "$@"; do
        if grep -q -e "$line" "$work/log"; then ok "and: $line"; else fail "and: $line"; fi
    done
}

ways() {
    check "over $1: jobs in which nothing is cut end well" 0 '' ends 5
    for caller in 1 2; do
        over="over $1, rank $caller has called"
        check "$over: the sender is told, and the job ends" 58 "$lost" program send $caller
        said 'The job ends with code 58 (MPI_ERR_PROC_ABORTED)' '^rank 1: sent, well$'
        check "$over: likewise, where errors are returned" 0 "$lost" returned program return $caller
        said '^rank 1: sent, well$' '^rank 1: aborted$' '^rank 2: aborted$'
        check "$over: a receiver that only waits is told" 0 '^rank 2: aborted$' returned program wait $caller
        check "$over: a process that is stopped is not lost" 0 '^rank 1: well, got 5$' program stop $caller
        said '^rank 2: well, got 5$'
        # What else there is has no patience but that of TERN_PEER_TIMEOUT.
        [ "$1" = software ] || continue
        check "$over: a gap of 5 s loses nobody" 0 '^rank 1: well, got 5$' gap $caller
        said '^rank 2: well, got 5$'
    done
    check "over $1: the last MPI_Session_finalize fails" 9 '^rank 1: MPI_Session_finalize: aborted$' start "$work/session" return
    said "$lost" '^rank 2: aborted$'
    check "over $1: likewise, by the handler of the session" 9 '^handler: class 1, the session is there$' start "$work/session" handler
    # Either side may be the first to be told.
    check "over $1: the handler of the communicator ends the job" 58 '[Tt]he job ends' start "$work/session" fatal
    said MPI_ERR_PROC_ABORTED
}

if ! ip netns exec "${name}b" nft "flush ruleset" 2> "$work/why"; then
    skip "a way that is cut" "nft: $(head -n 1 "$work/why")"
    sums
    exit
fi
given_up='rank 1 had sent messages to rank 2 of MPI_COMM_WORLD.*will never arrive'
for way in "$@"; do
    network=$way provider=auto transport=auto name_of=$way
    lost="$given_up: it has given no sign .*for 2 s (TERN_PEER_TIMEOUT)"
    case $way in
        # It stands for a card, which gives up by itself. Between hosts its wire is TCP.
        software | xrc)
            lost="$given_up: the connection to it is broken: .*: its machine gives no sign"
            [ "$way" = software ] || network=software transport=xrc name_of="software, XRC"
            ;;
        "tcp;ofi_rxm" | sockets)
            network=ofi provider=$way name_of="libfabric's $way"
            if ! "$prefix/bin/tern-info" networks | grep -q "^provider *$way on "; then
                skip "$name_of" "it is not there"
                continue
            fi
            ;;
    esac
    ways "$name_of"
done
sums
