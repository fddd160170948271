#!/bin/sh
# Another user at the ports of ranks: that of the TCP device, and that of MPI_Open_port. He holds connections, or is in the
# middle of two jobs that meet.
# Usage: tests/strangers/ports.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/strangers/between.sh"

"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/meet" "$here/dynamic/meet.c"
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/exchange" "$here/network/exchange.c"

# first_message: the first message of two ranks goes when many connections to the ports of both are held.
first_message() {
    rm -f "$work/go" "$work/there"
    timeout --kill-after=5 60 "$work/shell" "$c" "$prefix/bin/mpiexec" -x TERN_NETWORK=tcp --remote-shell "$work/shell" \
        --hosts "$c,$b" -n 2 "$work/hello" "" "$work/there" "$work/go" &
    job=$!
    wait_for "$work/there"
    targets=
    for host in "$c" "$b"; do
        address=$net.3
        [ "$host" = "$b" ] || address=$net.4
        for at in $(ip netns exec "$host" ss -ltnH | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -u); do
            targets="$targets $address:$at"
        done
    done
    # shellcheck disable=SC2086
    stranger crowd 600 $targets
    : > "$work/go"
    went=0
    wait $job || went=$?
    away
    return $went
}

# meeting BESIDE ADDRESSES: a job on c has a port open, one on b comes to it. BESIDE is what a stranger does, with PORT for the
# number of the port; ADDRESSES: which of those in its name the other job tries.
meeting() {
    rm -f "$work/name" "$work/told"
    timeout --kill-after=5 60 "$work/shell" "$c" "$prefix/bin/mpiexec" -n 1 "$work/meet" accept "@$work/name" &
    job=$!
    wait_for "$work/name"
    at=$(sed 's/.*://' "$work/name")
    before=$(sed "s#/[^/]*\$##" "$work/name")
    # The secret, for `seen`.
    echo "${before##*/}" > "$work/secret"
    printf "%s" "$before/$(echo "$2" | sed "s/PORT/$at/g")" > "$work/told"
    # shellcheck disable=SC2046
    stranger $(echo "$1" | sed "s/PORT/$at/g")
    went=0
    timeout --kill-after=5 60 "$work/shell" "$b" "$prefix/bin/mpiexec" -n 1 "$work/meet" connect "@$work/told" || went=$?
    [ $went = 0 ] || kill $job 2> /dev/null || true
    wait $job || went=$?
    away
    return $went
}

# A meeting that is meddled with ends soon, and with an error.
meddled() {
    meeting "$@" && return 99
    [ $went -ne 124 ] && ! grep -q "have met" "$work/log"
}

check "600 silent connections keep no rank out" 0 "^sum 1" first_message
check "1000 silent connections keep no job from a port" 0 "^2 processes have met" meeting "crowd 1000 $net.4:PORT" "$net.4:PORT"
middle="$both PORT $net.4 $work/kept"
check "a relay in the middle of two jobs passes on" 0 "^2 processes have met" meeting "$middle pass" "$both:PORT"
check "it sees neither the secret nor what the roots say" 0 "seen \[\]" \
    python3 "$relay" seen "$work/kept" "$work/secret" "$net.4" "$net.3" "TERN_"
check "a port that lets its first callers go is called again" 0 "^2 processes have met" meeting "$middle reset 3" "$both:PORT"
check "whoever answers first at a port" 0 "^2 processes have met" meeting "$middle wrong" "$both:PORT,$net.4:PORT"
check "a change in what the roots say" 0 "the process at the other end of the port is gone" meddled "$middle change down 60 1" "$both:PORT"
left=$(pgrep -f "$work/" | wc -l)
check "nothing is left" 0 "^0$" echo "$left"
sums
