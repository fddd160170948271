#!/bin/sh
# Jobs on several hosts. The hosts are network namespaces of this machine, which see each other over a bridge only;
# `ip netns exec` stands for the remote shell. Skipped, aloud, where namespaces cannot be made.
# Usage: tests/hosts-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
name=tern$$
net=10.$((200 + $$ % 50)).$(($$ / 50 % 250))
. "$here/hosts/three.sh"

build() { "$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/$1" "$2"; }
# Point-to-point, collectives, one-sided: name and ranks.
programs="comm_nodes:7 p2p_traffic:8 p2p_types:2 p2p_probe:3 coll_intra:4 coll_vector:3 rma_dynamic:2 rma_requests:3"
# What needs a card: receives that are filled while their process computes.
with_card="p2p_published:2 rma_dynamic:2"
for program in $programs p2p_published:2; do build "${program%:*}" "$here/c/${program%:*}.c"; done
build stall "$here/debug/stall.c"
cat > "$work/act.c" <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    const char *act = argc > 1 ? argv[1] : "";
    // The others go on.
    int on = argc > 2;
    rank = atoi(getenv("TERN_RANK"));
    if (!strcmp(act, "leave") && rank == 2) return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(act, "stdin") && rank == 0) {
        char line[100] = "";
        if (fgets(line, sizeof line, stdin)) printf("rank 0 read %s", line);
    }
    if (!strcmp(act, "abort") && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 9);
    if (!strcmp(act, "kill") && rank == 2) raise(SIGKILL);
    if (!strcmp(act, "agent") && rank == 2) kill(getppid(), SIGKILL), pause();
    if (!strcmp(act, "cut") && rank == 2) system("ip link set eth0 down"), sleep(60);
    if (on) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (!MPI_Barrier(MPI_COMM_WORLD)) MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (!strcmp(act, "wait") || !strcmp(act, "kill") || !strcmp(act, "abort") || !strcmp(act, "agent")) sleep(60);
    if (!strcmp(act, "env")) printf("%s %s in %s\n", getenv("TERN_RANK"), getenv("GREETING"), getcwd(malloc(999), 999));
    if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
    MPI_Finalize();
    return !strcmp(act, "code") && rank == 1 ? 7 : 0;
}
END
build act "$work/act.c"

check "two ranks on two hosts" 0 "^2 ranks, sum 1" on --hosts "${name}a,${name}b" -n 2 "$work/act"
check "seven ranks on three hosts" 0 "^7 ranks, sum 21" on --hosts "$hosts" -n 7 "$work/act"
for program in $programs; do
    check "${program%:*} across hosts" 0 "" on --hosts "$hosts" -n "${program#*:}" "$work/${program%:*}"
done
for program in $with_card; do
    check "${program%:*} across hosts, by the software card" 0 "" \
        on -x TERN_NETWORK=software --hosts "$hosts" -n "${program#*:}" "$work/${program%:*}"
done
check "a host file" 0 "^3 ranks" sh -c "printf '%s\n' '# all' '${name}a slots=2' '${name}b:1' > $work/hosts
    timeout 100 $prefix/bin/mpiexec --remote-shell 'ip netns exec {host}' -f $work/hosts -n 3 $work/act"
# As the MPI Operator of Kubernetes tells its launcher: neither hosts nor a number of ranks on the command line.
printf '%s\n' "${name}a slots = 2" "${name}b slots=1" "${name}c slots=0" > "$work/operator"
for variable in HYDRA_HOST_FILE I_MPI_HYDRA_HOST_FILE OMPI_MCA_orte_default_hostfile PRTE_MCA_prte_default_hostfile; do
    check "the hosts of $variable" 0 "^3 ranks" env "$variable=$work/operator" "OMPI_MCA_plm_rsh_agent=$work/shell" \
        timeout 100 "$prefix/bin/mpirun" "$work/act"
done
check "a host file that is not there" 2 "named by HYDRA_HOST_FILE" env "HYDRA_HOST_FILE=$work/none" "$prefix/bin/mpirun" "$work/act"
check "environment and directory are passed on" 0 "^2 hello you in /tmp$" \
    sh -c "cd /tmp && GREETING='hello you' timeout 100 $prefix/bin/mpiexec --remote-shell 'ip netns exec {host}' --hosts $hosts -n 3 $work/act env"
check "rank 0 reads the standard input" 0 "^rank 0 read a line" \
    sh -c "echo a line | timeout 100 $prefix/bin/mpiexec --remote-shell 'ip netns exec {host}' --hosts $hosts -n 3 $work/act stdin"
check "tagged output" 0 "^\[0\] 3 ranks" on --hosts "$hosts" -l -n 3 "$work/act"
# Of several hosts, into one pipe.
torn() { on --hosts "$hosts" -l -n 3 seq 1 50000 | grep -vcE '^\[[012]\] [0-9]+$'; }
check "tagged output is not torn" 1 "^0$" torn
full() { on --hosts "$hosts" -l -n 3 echo here > /dev/full; }
check "tagged output that cannot be written" 1 "output of the ranks is lost: .*No space" full
check "an exit code" 7 "rank 1 .* exited with code 7 after MPI_Finalize" on --hosts "$hosts" -n 3 "$work/act" code
check "MPI_Abort" 9 "rank 2 (process [0-9]* on ${name}c, .*MPI_Abort" on --hosts "$hosts" -n 3 "$work/act" abort
check "a rank is killed" 137 "rank 2 (process [0-9]* on ${name}c, .*killed by signal 9" on --hosts "$hosts" -n 3 "$work/act" kill
check "an agent is killed" 1 "host ${name}c is lost" on --hosts "$hosts" -n 3 "$work/act" agent
check "a rank is killed, and the others go on" 0 "rank 2 (process [0-9]* on ${name}c, .* by signal 9 .*; the job goes on without it$" \
    on --with-ft --hosts "$hosts" -n 3 "$work/act" kill on
check "an agent is killed, and the others go on" 0 "host ${name}c is lost: .*; the job goes on without rank 2$" \
    on --with-ft --hosts "$hosts" -n 3 "$work/act" agent on
check "a host is cut off, and the others go on" 0 "host ${name}c is lost: .*; the job goes on without rank 2$" \
    env TERN_PEER_TIMEOUT=2s timeout 100 "$prefix/bin/mpiexec" --remote-shell "$work/shell" --with-ft --hosts "$hosts" -n 3 "$work/act" cut on
ip -n "${name}c" link set eth0 up
check "a rank ends before MPI_Init" 1 "rank 2 .* ended without calling MPI_Init, which rank [01]" on --hosts "$hosts" -n 3 "$work/act" leave
check "a time limit" 124 "has not ended after 3 s" on --timeout 3 --hosts "$hosts" -n 3 "$work/act" wait
check "a host that is not there" 1 "agent on host ${name}x did not start" on --hosts "${name}a,${name}x" -n 2 "$work/act"
check "a program that is not there" 127 "host ${name}[ab]" on --hosts "${name}a,${name}b" -n 2 "$work/none"
check "a stall on three hosts is one picture" 124 "^  deadlock: ranks 0, 1 and 2 wait in a circle" \
    env TERN_STALL=300ms "$prefix/bin/mpiexec" --remote-shell "$work/shell" --timeout 6 --hosts "$hosts" -n 3 "$work/stall" head-to-head
left=$(pgrep -f "$work/" | wc -l)
check "nothing is left" 0 "^0$" echo "$left"
sums
