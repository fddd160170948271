#!/bin/sh
# Two hosts on one machine: network namespaces with a wire between them, and names of their own. Needs root.
# Usage: bench/hosts.sh make
#        bench/hosts.sh remove
#        bench/hosts.sh [OPTIONS] 10.77.0.1|10.77.0.2 COMMAND...    as a remote shell; its options mean nothing here
#   HOSTS_CORES   the cores of each host, for taskset: those of the first, a blank, those of the second
set -eu

a=ternbench1 b=ternbench2
case ${1:-} in
make)
    "$0" remove
    ip netns add $a
    ip netns add $b
    ip link add wire1 netns $a type veth peer name wire2 netns $b
    ip -n $a addr add 10.77.0.1/24 dev wire1
    ip -n $b addr add 10.77.0.2/24 dev wire2
    for space in $a $b; do ip -n $space link set lo up; done
    ip -n $a link set wire1 up
    ip -n $b link set wire2 up
    exit ;;
remove)
    for space in $a $b; do ip netns del $space 2> /dev/null || true; done
    exit ;;
esac
while :; do
    case $1 in
    -l | -o | -p) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
case $1 in
10.77.0.1) space=$a cores=${HOSTS_CORES% *} ;;
10.77.0.2) space=$b cores=${HOSTS_CORES#* } ;;
*) echo "$0: no host $1" >&2; exit 255 ;;
esac
shift
# As on two machines: each has a name, and knows the other's.
names=$(mktemp)
printf '127.0.0.1 localhost\n10.77.0.1 %s\n10.77.0.2 %s\n' $a $b > "$names"
# A remote shell takes its words as one line for a shell.
exec ip netns exec $space unshare --uts --mount sh -c '
    hostname "$0"
    mount --bind "$1" /etc/hosts
    rm -f "$1"
    cores=$2
    shift 2
    exec taskset -c "$cores" sh -c "$*"' $space "$names" "$cores" "$@"
