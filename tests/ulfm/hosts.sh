#!/bin/sh
# Two programs of the suite that kill the daemon of their host, for tests/ulfm-suite.sh: on three hosts, which are network namespaces of this machine.
# Usage: tests/ulfm/hosts.sh PREFIX FOLDER     FOLDER: where the compiled programs are
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
prefix=$1 folder=$2
name=ternu$$
net=10.$((200 + $$ % 50)).$(($$ / 50 % 250))
. "$here/hosts/three.sh"
for ranks in 3 6; do
    check "stress/kill_node, $ranks ranks on 3 hosts" 0 "COMPLIANT" \
        on --hosts "$hosts" --ppn $((ranks / 3)) -n $ranks --with-ft stdbuf -oL "$folder/stress/kill_node"
done
# It has a communicator of all but one rank, which therefore is alone on its host.
check "benchmarks/daemon_benchdetect_barrier, 3 ranks on 3 hosts" 0 "Barrier (w/ fault)" \
    on --hosts "$hosts" --ppn 1 -n 3 --with-ft stdbuf -oL "$folder/benchmarks/daemon_benchdetect_barrier"
sums
