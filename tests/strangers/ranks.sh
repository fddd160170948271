#!/bin/sh
# Somebody in the middle of the connections of ranks on two hosts: the kernel leads each to a relay of another user. He listens, says
# once more what he has heard, and changes bytes of handshakes.
# Usage: tests/strangers/ranks.sh PREFIX
#   TERN_TEST_STRANGERS=all   changes bytes at six places of a handshake, else at one
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/strangers/between.sh"

cat > "$work/tell.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
// tell TEXT UNTIL: rank 0 tells rank 1 the text, and both go on until the file is there.
int main(int argc, char **argv)
{
    char text[100] = "";
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(argv[1], strlen(argv[1]) + 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(text, sizeof text, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (access(argv[2], F_OK)) usleep(10000);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) printf("told: %s\n", text);
    MPI_Finalize();
    return 0;
}
END
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/tell" "$work/tell.c"

# Here each address is that of one host.
ip -n "$c" addr del "$both/24" dev eth0
ip -n "$b" addr del "$both/32" dev lo

# All connections between the hosts but those to mpiexec, save those of the relay itself.
for host in "$b" "$c"; do
    if ! ip netns exec "$host" nft -f - 2> "$work/why" <<END
table ip middle {
    chain out {
        type nat hook output priority -100
        ip daddr $net.4 tcp dport $port accept
        meta skuid != 65534 ip daddr $net.0/24 tcp dport 1-65535 redirect to :7777
    }
}
END
    then
        skip "ranks" "the kernel or nft cannot lead connections elsewhere: $(head -n 1 "$work/why")"
        sums
        exit
    fi
done

# middle [WAY AT BITS]: a relay on each host, until `over`.
middle() {
    relays=
    for host in "$b" "$c"; do
        rm -rf "$work/kept.$host" && mkdir "$work/kept.$host" && chown 65534 "$work/kept.$host"
        # What the relay before has said is away before this one begins.
        : > "$work/relay.$host"
        ip netns exec "$host" python3 "$relay" through 7777 "$work/kept.$host" "$@" > "$work/relay.$host" 2>&1 &
        relays="$relays $!"
        for _ in $(seq 200); do
            grep -q ready "$work/relay.$host" && break
            sleep 0.05
        done
        grep -q ready "$work/relay.$host" || fail "the relay on $host has not begun" "$(tail -n 1 "$work/relay.$host")"
    done
}
over() {
    for one in $relays; do
        kill "$one" 2> /dev/null || true
        wait "$one" 2> /dev/null || true
    done
}

# job DEVICE: begins it.
job() {
    rm -f "$work/until"
    timeout --kill-after=5 100 "$work/shell" "$c" "$prefix/bin/mpiexec" -x TERN_NETWORK="$1" -x TERN_PEER_TIMEOUT=5s \
        --remote-shell "$work/shell" --hosts "$c,$b" -n 2 "$work/tell" "$UNSEEN" "$work/until" > "$work/told" 2>&1 &
    job=$!
}

# heard: whether a whole handshake went over a relay.
heard() {
    find "$work/kept.$b" "$work/kept.$c" -name "*.up" -size +67c | grep -q .
}

# repeated DEVICE: while the job runs, what its ranks have said to each other is said once more, to both.
repeated() {
    middle
    job "$1"
    for _ in $(seq 600); do
        if heard; then break; fi
        sleep 0.05
    done
    # The last words of the handshakes come, too.
    sleep 0.5
    went=0
    ip netns exec "$b" python3 "$relay" replay "$work/kept.$b" "$work/kept.$c" || went=98
    : > "$work/until"
    wait $job || went=$?
    over
    cat "$work/told"
    return $went
}

# changed DEVICE WAY AT: a bit of a byte of each handshake is changed; the job ends, soon, and nobody is told anything.
changed() {
    middle "$2" "$3" 1
    : > "$work/until"
    job "$1"
    : > "$work/until"
    went=0
    wait $job || went=$?
    over
    cat "$work/told"
    [ "$went" != 0 ] && [ "$went" != 124 ] && ! grep -q "^told: " "$work/told"
}

places=up-25
[ "${TERN_TEST_STRANGERS:-}" != all ] || places="up-0 up-25 up-40 down-3 down-20 down-48"
for device in tcp software; do
    check "$device: what ranks have said is said once more" 0 "^told: $UNSEEN$" repeated "$device"
    sed -n 's/^[0-9]* handshakes at/     &/p' "$work/log"
    # What security.md says of messages, which are not encrypted.
    check "$device: who is in the middle reads messages" 0 "" grep -rqa "$UNSEEN" "$work/kept.$b" "$work/kept.$c"
    # A rank calls for a minute before it gives a peer up, so that each of these takes one: all of them in check-deep.
    for place in $places; do
        check "$device: a change in handshakes: $place" 0 "" changed "$device" "${place%-*}" "${place#*-}"
    done
done
left=$(pgrep -f "$work/" | wc -l)
check "nothing is left" 0 "^0$" echo "$left"
sums
