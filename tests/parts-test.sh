#!/bin/sh
# Parts of the RDMA device may change how fast a program is, never what it computes: C programs on two simulated
# nodes with every optional part off, one by one; with all off; with each on alone; with little of everything; and
# with faults all the time.
# Usage: tests/parts-test.sh PREFIX
#   TERN_TEST_PARTS=all   every C program that has something to do with it, and mpi4py's point-to-point, collective and
#                         one-sided modules
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
export TERN_NETWORK=software TERN_TEST_NODES=2 TERN_TEST_DIR="$place/programs"

programs="p2p_traffic p2p_published p2p_types coll_apart coll_intra rma_dynamic"
[ "${TERN_TEST_PARTS:-}" = all ] || export TERN_TEST_MOST_RANKS=2
if [ "${TERN_TEST_PARTS:-}" = all ]; then
    programs=
    for source in "$here"/c/comm_nodes.c "$here"/c/p2p_*.c "$here"/c/coll_*.c "$here"/c/rma_*.c "$here"/c/thread_*.c; do
        name=${source##*/}
        programs="$programs ${name%.c}"
    done
    modules="test_p2p_buf test_p2p_obj test_cco_buf test_cco_nb_buf test_cco_vec test_cco_nb_vec test_rma test_win"
fi
compiled

# all SETTING...: the programs with these settings, and mpi4py's modules where everything is wanted.
all() {
    with "$@"
    [ "${TERN_TEST_PARTS:-}" = all ] || return 0
    # shellcheck disable=SC2086
    env "$@" MPI4PY_ARGUMENTS="$(printf -- '-i %s ' $modules)" "$here/mpi4py.sh" "$prefix" 2 > "$place/said" 2>&1 || not_content
    grep -E 'FAIL|passed' "$place/said" || true
    add
}

# Each part: the setting that switches it off, and the one that makes it work from the first message on.
parts="header rings tuples frequent kept rendezvous"
off() {
    case $1 in
        header) echo TERN_HEADER_CACHE=off ;;
        rings) echo TERN_RINGS=0 ;;
        tuples) echo TERN_TUPLEQ=off ;;
        frequent) echo TERN_FREQUENT=off ;;
        kept) echo TERN_REGISTERED=0 ;;
        rendezvous) echo TERN_RENDEZVOUS=packets ;;
    esac
}
on() {
    case $1 in
        header) echo TERN_HEADER_CACHE=on ;;
        rings) echo TERN_RINGS_AFTER=1 ;;
        tuples) echo TERN_TUPLEQ=write TERN_TUPLEQ_THRESHOLD=1 ;;
        frequent) echo TERN_FREQUENT_SHARE=0 ;;
        kept) echo TERN_REGISTERED=1000000 TERN_RENDEZVOUS=rget ;;
        rendezvous) echo TERN_RENDEZVOUS=rput ;;
    esac
}

for part in $parts; do
    # shellcheck disable=SC2046
    all $(off "$part")
done
for part in none $parts; do
    settings=
    for other in $parts; do
        [ "$other" = "$part" ] || settings="$settings $(off "$other")"
    done
    # shellcheck disable=SC2046,SC2086
    all $settings $(on "$part")
done
all TERN_RENDEZVOUS=rget TERN_TUPLEQ=off
# Long messages over several ports, of which one fails after a while.
all TERN_PORTS=3 TERN_FAULTS=cut-port=2/40
# Little of everything, and all parts from the first message on.
all TERN_CREDITS=3 TERN_RECEIVES=64 TERN_PACKET=512 TERN_RINGS_CELL=64
all TERN_HEADER_CACHE=on TERN_RINGS_AFTER=1 TERN_TUPLEQ_THRESHOLD=1 TERN_TUPLEQ_COPY=100 TERN_FREQUENT_SHARE=0
all TERN_FAULTS=rnr=1/5,full=1/3,locked=3M
# One queue pair for each node, and a queue of the card for each tuple.
all TERN_VERBS_TRANSPORT=xrc TERN_TUPLEQ=queues TERN_TUPLEQ_THRESHOLD=1

sums
