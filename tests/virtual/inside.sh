#!/bin/sh
# What tests/virtual-test.sh runs inside the machine; without arguments prints which programs of tests/c are used.
# Usage: tests/virtual/inside.sh [PREFIX PROGRAMS BINARY...]
#   PROGRAMS: where the compiled programs are; BINARY: tests of `hca` that need a card
set -u

# Point-to-point, collectives, one-sided: what fits into the time that there is without hardware virtualisation.
programs="p2p_order p2p_modes p2p_types p2p_complete p2p_published p2p_cancel coll_intra coll_apart coll_vector rma_dynamic
    rma_computing comm_nodes"
# With little memory that may be locked.
limited="p2p_published_late"
[ $# -gt 0 ] || { echo $programs $limited; exit 0; }

here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 compiled=$2
shift 2
failed=0

# A test for which the card lacks something ends well, and says so: such count as skipped.
recount() {
    awk '{ n += gsub(/skipped: [a-z_]+: /, "&") }
        /^test result: / && n { split($0, w, "[ ;]+")
            sub(/[0-9]+ passed/, w[4] - n " passed"); sub(/[0-9]+ ignored/, w[8] + n " ignored") }
        { print }'
}
code=$(mktemp)
for binary; do
    { timeout 100 "$binary" --include-ignored --test-threads 1 --nocapture 2>&1; echo "$?" > "$code"; } | recount
    [ "$(cat "$code")" -eq 0 ] || failed=1
done
# Each node is a part of this machine, and what goes between them goes through the card.
# shellcheck disable=SC2086
TERN_NETWORK=rdma TERN_TEST_NODES=2 TERN_TEST_MOST_RANKS=2 TERN_TEST_STEP=run TERN_TEST_DIR=$compiled \
    "$here/../run.sh" "$prefix" $programs || failed=1
# What cannot be registered is copied, and each process says so once at most.
export TERN_TEST_WARNINGS=2
# shellcheck disable=SC2086
TERN_NETWORK=rdma TERN_TEST_NODES=2 TERN_TEST_STEP=run TERN_TEST_DIR=$compiled TERN_TEST_UNDER="$here/locked.sh 1500" \
    "$here/../run.sh" "$prefix" $limited || failed=1
for name in $limited; do
    grep -q 'no more memory can be registered' "$compiled/$name.2.2.log" || { echo "$name: nothing was refused"; failed=1; }
done
exit "$failed"
