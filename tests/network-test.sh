#!/bin/bash
# Jobs over bad networks: two network namespaces as hosts, and between them a wire that delays, loses and reorders
# (network/wire.c), or is cut. Skipped, aloud, where namespaces or taps cannot be made.
# Usage: tests/network-test.sh PREFIX [WAY...]
#   WAY: delay, loss, reorder, bad (all three), cut [bad cut]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [WAY...]"}" && pwd)
. "$here/common.sh"
shift
[ $# -gt 0 ] || set -- bad cut
work=$(mktemp -d)
evidence=$work/log
name=ternw$$
a=${name}a b=${name}b
wire=

remove() {
    trap - EXIT INT TERM
    unplug
    ip netns del "$a" 2> /dev/null || true
    ip netns del "$b" 2> /dev/null || true
    rm -rf "$work"
}
trap remove EXIT
trap 'remove; exit 1' INT TERM

# plug DELAY-US LOSS-PER-1000 LATE-PER-1000
plug() {
    # What the wire before has said is away before this one begins: the shell empties the file only in the background.
    : > "$work/wire.log"
    "$work/wire" 1 "$@" "$a" "$b" > "$work/wire.log" 2>&1 &
    wire=$!
    for _ in $(seq 100); do
        grep -q ready "$work/wire.log" && break
        kill -0 $wire 2> /dev/null || return 1
        sleep 0.1
    done
    ip -n "$a" addr add 10.99.0.1/24 dev wire0 && ip -n "$a" link set wire0 up &&
        ip -n "$b" addr add 10.99.0.2/24 dev wire0 && ip -n "$b" link set wire0 up
}

unplug() {
    [ -n "$wire" ] || return 0
    kill "$wire" 2> /dev/null || true
    wait "$wire" 2> /dev/null || true
    wire=
}

# on MPIEXEC'S ARGUMENTS...
on() {
    timeout --kill-after=5 "${limit:-120}" ip netns exec "$a" "$prefix/bin/mpiexec" \
        --remote-shell 'ip netns exec {host}' --hosts "$a,$b" "$@" < /dev/null
}

# check WHAT CODE PATTERN MPIEXEC'S ARGUMENTS...
check() {
    local what=$1 wanted=$2 pattern=$3
    shift 3
    code=0
    on "$@" > "$work/log" 2>&1 || code=$?
    if [ "$code" = "$wanted" ] && { [ -z "$pattern" ] || grep -q -e "$pattern" "$work/log"; }; then
        ok "$what"
    else
        fail "$what: exit code $code, expected $wanted, and a line with: $pattern"
    fi
}

build() { "$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/$1" "$2"; }

gcc -O2 -Wall -o "$work/wire" "$here/network/wire.c"
if ! { ip netns add "$a" && ip netns add "$b" && ip -n "$a" link set lo up && ip -n "$b" link set lo up && plug 0 0 0; } 2> "$work/why"; then
    echo "SKIP: this user cannot make network namespaces with taps: $(cat "$work/why" "$work/wire.log" 2> /dev/null | head -n 1)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
unplug
programs="p2p_types:2 coll_intra:4 coll_vector:3 rma_requests:3"
for program in $programs; do build "${program%:*}" "$here/c/${program%:*}.c"; done
build exchange "$here/network/exchange.c"

# over WHAT DELAY LOSS LATE: programs that check what comes; that the wire did what was asked.
over() {
    local what=$1
    shift
    plug "$@"
    check "exchanges, $what" 0 '^100 rounds, sum 6$' -n 4 "$work/exchange" 100
    for program in $programs; do
        check "${program%:*}, $what" 0 "" -n "${program#*:}" "$work/${program%:*}"
    done
    unplug
    cp "$work/wire.log" "$work/log"
    if awk -v loss="$2" -v late="$3" '/ frames, / { good = $1 > 1000 && (!loss || $3 > 0) && (!late || $5 > 0) } END { exit !good }' "$work/log"; then
        ok "the wire, $what: $(tail -n 1 "$work/log")"
    else
        fail "the wire has not done what it was asked: $what"
    fi
}

# Waits until the job that writes into the log has begun to exchange.
begun() {
    for _ in $(seq 300); do
        grep -q '^begun' "$work/log" && return 0
        sleep 0.1
    done
    return 1
}

cut_and_mended() {
    plug 500 0 0
    : > "$work/log"
    on -n 4 "$work/exchange" 400 2000 > "$work/log" 2>&1 &
    job=$!
    begun || true
    kill -USR1 "$wire"
    sleep 3
    kill -USR2 "$wire"
    code=0
    wait $job || code=$?
    if [ "$code" = 0 ] && grep -q '^400 rounds, sum 6$' "$work/log"; then ok "a wire that is cut for 3 s"; else fail "a wire that is cut for 3 s: exit code $code"; fi
    unplug
}

# cut_for_good WHAT LAUNCHER'S-TIMEOUT PROCESSES'-TIMEOUT PATTERN PROGRAM...
cut_for_good() {
    local what=$1 launcher=$2 processes=$3 pattern=$4
    shift 4
    plug 500 0 0
    : > "$work/log"
    TERN_PEER_TIMEOUT=$launcher on -x TERN_PEER_TIMEOUT="$processes" -n 4 "$@" > "$work/log" 2>&1 &
    job=$!
    begun || true
    kill -USR1 "$wire"
    code=0
    wait $job || code=$?
    if [ "$code" = 0 ] || [ "$code" -ge 124 ]; then
        fail "$what: exit code $code"
    elif ! grep -q "$pattern" "$work/log"; then
        fail "$what: no line matches: $pattern"
    else
        ok "$what"
    fi
    # The other host's agent sees that it is alone, too.
    for _ in $(seq 300); do
        pgrep -f "$work/exchange" > "$work/left" || break
        sleep 0.1
    done
    if pgrep -f "$work/exchange" > "$work/left"; then
        # shellcheck disable=SC2046
        ps -o pid,args -p "$(paste -sd, "$work/left")" > "$work/log"
        fail "$what: processes are left"
        # shellcheck disable=SC2046
        kill -9 $(cat "$work/left") 2> /dev/null || true
    else
        ok "$what: nothing is left"
    fi
    unplug
}

for way; do
    case $way in
    delay) over "2 ms of delay" 2000 0 0 ;;
    loss) over "2 % lost" 100 20 0 ;;
    reorder) over "10 % out of order" 100 0 100 ;;
    bad) over "1 ms of delay, 0.5 % lost, 2 % out of order" 1000 5 20 ;;
    cut)
        cut_and_mended
        cut_for_good "a cut that mpiexec notices" 4s 100s "connection to host $b is lost" "$work/exchange" 0 1000
        cut_for_good "a cut that the processes notice" 100s 3s 'has given no sign for 3 s' "$work/exchange" 0 1000
        ;;
    *) echo "no way $way" >&2; exit 2 ;;
    esac
done
sums
