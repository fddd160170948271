#!/bin/bash
# Which interfaces carry a job over TCP: two network namespaces as hosts with two links between them. Both have a docker0 with the address
# of the other's, as hosts with Docker do. Then both links together, one of which is slower, and one that is cut; a receiver that
# computes; hosts without IPv4, and ports that a firewall would let pass.
# Skipped, aloud, where namespaces cannot be made.
# Usage: tests/interfaces-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
work=$(mktemp -d)
evidence=$work/log
name=terni$$
a=${name}a b=${name}b

remove() {
    trap - EXIT INT TERM
    ip netns del "$a" 2> /dev/null || true
    ip netns del "$b" 2> /dev/null || true
    rm -rf "$work"
}
trap remove EXIT
trap 'remove; exit 1' INT TERM

# Two hosts, and two links between them without addresses.
hosts() {
    ip netns del "$a" 2> /dev/null || true
    ip netns del "$b" 2> /dev/null || true
    for host in "$a" "$b"; do
        ip netns add "$host" && ip -n "$host" link set lo up || return 1
    done
    for link in one two; do
        ip -n "$a" link add $link type veth peer name $link netns "$b" || return 1
        ip -n "$a" link set $link up && ip -n "$b" link set $link up || return 1
    done
}

# addresses LINK NETWORK: .1 or ::1 at the one end, .2 or ::2 at the other.
addresses() {
    ip -n "$a" addr add "${2}1/$3" dev "$1" ${4:+nodad} && ip -n "$b" addr add "${2}2/$3" dev "$1" ${4:+nodad}
}

docker() {
    for host in "$a" "$b"; do
        ip -n "$host" link add docker0 type veth peer name docker1
        ip -n "$host" link set docker0 up && ip -n "$host" link set docker1 up
        ip -n "$host" addr add 172.17.0.1/16 dev docker0
    done
}

# Bytes that went out by a link of the first host.
gone() { ip -n "$a" -s -j link show "$1" | sed 's/.*"tx":{"bytes":\([0-9]*\).*/\1/'; }

# check WHAT CODE PATTERN MPIEXEC'S ARGUMENTS...
check() {
    local what=$1 wanted=$2 pattern=$3 code=0
    shift 3
    timeout --kill-after=5 120 ip netns exec "$a" "$prefix/bin/mpiexec" --remote-shell 'ip netns exec {host}' --hosts "$a,$b" "$@" \
        < /dev/null > "$work/log" 2>&1 || code=$?
    if [ "$code" = "$wanted" ] && grep -q -e "$pattern" "$work/log"; then
        ok "$what"
    else
        fail "$what: exit code $code, expected $wanted, and a line with: $pattern"
    fi
}

# carries LINK WHAT MPIEXEC'S ARGUMENTS...: the job's messages take that link, and not the other one.
carries() {
    local link=$1 what=$2 before after
    shift 2
    before=$(gone "$link")
    check "$what" 0 '^32 rounds, sum 1$' "$@" -n 2 "$work/exchange" 32
    after=$(gone "$link")
    if [ $((after - before)) -gt 2000000 ]; then ok "$what: by link $link"; else fail "$what: $((after - before)) bytes by link $link"; fi
}

# together WHAT MPIEXEC'S ARGUMENTS...: runs it; the bytes that went by each link, in KiB, are in $one and $two.
together() {
    one=$(gone one) two=$(gone two)
    check "$@"
    one=$((($(gone one) - one) / 1024)) two=$((($(gone two) - two) / 1024))
}

# is WHAT CONDITION: of $one and $two.
is() {
    if [ $(($2)) = 1 ]; then ok "$1: $one KiB and $two KiB"; else fail "$1: $one KiB and $two KiB"; fi
}

# slow LINK RATE: its rate, both ways; 0 for as fast as can be.
slow() {
    for host in "$a" "$b"; do
        ip netns exec "$host" tc qdisc del dev "$1" root 2> /dev/null || true
        [ "$2" = 0 ] || ip netns exec "$host" tc qdisc add dev "$1" root tbf rate "$2" burst 64k latency 20ms || return 1
    done
}

# A link that is cut while it is used: the job ends and says which.
cut_one() {
    local code=0
    timeout --kill-after=5 120 ip netns exec "$a" "$prefix/bin/mpiexec" --remote-shell 'ip netns exec {host}' --hosts "$a,$b" \
        -x TERN_PEER_TIMEOUT=3s -x TERN_INTERFACE=one,two -n 2 "$work/long" 0 $((1 << 20)) < /dev/null > "$work/log" 2>&1 &
    job=$!
    two=$(gone two)
    for _ in $(seq 300); do
        [ $(($(gone two) - two)) -lt 20000000 ] || break
        sleep 0.1
    done
    ip -n "$b" link set two down
    wait $job || code=$?
    ip -n "$b" link set two up
    if [ $code != 0 ] && [ $code -lt 124 ] && grep -q "has given no sign at 10.98.2.[12] for 3 s" "$work/log"; then
        ok "one of two links is cut"
    else
        fail "one of two links is cut: exit code $code"
    fi
}

if ! hosts 2> "$work/why"; then
    echo "SKIP: this user cannot make network namespaces: $(head -n 1 "$work/why")"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/exchange" "$here/network/exchange.c"
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/long" "$here/network/long.c"
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/computing" "$here/network/computing.c"
skipped=0

addresses one 10.98.1. 24
addresses two 10.98.2. 24
docker
carries one "the link that mpiexec is reached by"
carries two "an interface by name" -x TERN_INTERFACE=two
carries two "a network" -x TERN_INTERFACE=10.98.2.0/24
carries two "all interfaces but some" -x TERN_INTERFACE=^one,docker0
carries two "an address that leads to the own host is left" -x TERN_INTERFACE=docker0,two
check "no such interface" 16 'no interface with an address is up and chosen (TERN_INTERFACE=ether9)' -x TERN_INTERFACE=ether9 -n 2 "$work/exchange" 1
check "no list" 16 'TERN_INTERFACE=10.0.0.0/40 is no list of interfaces' -x TERN_INTERFACE=10.0.0.0/40 -n 2 "$work/exchange" 1

together "long messages by one of two links" 0 '^60 rounds, right$' -x TERN_INTERFACE=one -n 2 "$work/long" 60
is "the other link is left alone" "one > 100000 && two < 100"
together "long messages by both links" 0 '^60 rounds, right$' -x TERN_INTERFACE=one,two -n 2 "$work/long" 60
is "both links carry them" "one > 20000 && two > 20000"
together "short messages by the first of two" 0 '^9 rounds, right$' -x TERN_INTERFACE=two,one -n 2 "$work/long" 9 400000
is "none by the second" "one < 100 && two > 3000"
if slow one 400mbit && slow two 40mbit; then
    together "links of two rates" 0 '^20 rounds, right$' -x TERN_INTERFACE=one,two -n 2 "$work/long" 20 $((6 << 20))
    is "the faster carries more" "one > two && two > 4000"
    slow one 0
    slow two 0
else
    skipped=$((skipped + 1))
    echo "SKIP: this kernel cannot give a link a rate"
fi
cut_one

export TERN_PORT_RANGE=23000-23003
carries one "ports of a range" -x TERN_PORT_RANGE=$TERN_PORT_RANGE
check "too few ports" 16 'no port of 23000..=23000 can be listened on' -x TERN_PORT_RANGE=23000-23000 -n 4 "$work/exchange" 1
unset TERN_PORT_RANGE

# New hosts: the kernel remembers of each peer how much was lost, and takes less for it.
hosts
addresses one 10.98.1. 24
if [ "$(awk '{ print $3 }' /proc/sys/net/ipv4/tcp_wmem)" -ge 2097152 ]; then
    check "400 kB to a receiver that computes" 0 '^the message has left$' -n 2 "$work/computing" 400000 "$work/left"
else
    skipped=$((skipped + 1))
    echo "SKIP: 400 kB to a receiver that computes: this kernel's sockets take less (net.ipv4.tcp_wmem)"
fi

hosts
addresses one fd98:1:: 64 nodad
docker
carries one "hosts without IPv4 between them" -x TERN_INTERFACE=^docker0
sums
