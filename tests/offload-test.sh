#!/bin/sh
# Copies that a thread of the library makes beside the program (TERN_OFFLOAD): results are right where all long messages go so, the thread is there
# where a core is left for it and nowhere else, and a rank that dies meanwhile ends the job.
# Usage: tests/offload-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

programs="request_offload coll_overlap coll_persistent_fork coll_vector p2p_cancel p2p_complete p2p_exchange p2p_fork p2p_large p2p_late p2p_modes"
programs="$programs p2p_partitioned p2p_persistent p2p_published p2p_refused_later p2p_reuse p2p_traffic p2p_truncate p2p_types request_turns"
export TERN_TEST_DIR="$place/programs"
compiled
with TERN_OFFLOAD=thread
with TERN_OFFLOAD=thread TERN_PROMOTE=always
with TERN_OFFLOAD=thread TERN_MECHANISM=cma
# Where there is no kernel module, the program's own calls copy (tests/kmod-test.sh has the module).
all=$programs programs="p2p_late p2p_exchange"
with TERN_OFFLOAD=module
programs=$all

# A machine of eight cores, which is shown to the library: of these two ranks leave some, or none.
"$prefix/bin/tern-info" --make-topology 1x1x1x8x1 "$place/machine" > "$place/said"
evidence=$place/said
# given WHAT SIGN [SETTING=VALUE...] [-- OPTION...]: how many messages the thread was given, as a test.
given() {
    what=$1 sign=$2
    shift 2
    settings=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do settings="$settings $1"; shift; done
    [ $# -eq 0 ] || shift
    # shellcheck disable=SC2086
    env TERN_TOPOLOGY="$place/machine" $settings timeout 120 "$prefix/bin/mpiexec" "$@" -n 2 "$place/programs/request_offload" > "$place/said" 2>&1 ||
        { fail "$what" "exit code $?"; return; }
    number=$(sed -n 's/^given to the thread: \([0-9]*\) .*/\1/p' "$place/said")
    if [ "${number:--1}" "$sign" 0 ]; then ok "$what"; else fail "$what" "$number messages"; fi
}
given "two ranks of eight cores have a thread each" -gt
given "unbound ones, too" -gt -- --bind-to none
given "ranks that are bound to a core have none" -eq -- --bind-to core
given "TERN_OFFLOAD=off forbids it" -eq TERN_OFFLOAD=off
given "a program with threads keeps its cores" -eq OFFLOAD_THREADS=1

# A rank that dies while the thread of the other one copies from it.
TERN_OFFLOAD=thread OFFLOAD_DIES=1 timeout 120 "$prefix/bin/mpiexec" -n 2 "$place/programs/request_offload" > "$place/said" 2>&1 && code=0 || code=$?
if [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && grep -q "rank 0.*signal 9\|rank 0.*SIGKILL\|rank 0.*killed" "$place/said"; then
    ok "a rank that dies meanwhile ends the job"
else
    fail "a rank that dies meanwhile ends the job" "exit code $code"
fi

sums
