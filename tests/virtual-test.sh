#!/bin/sh
# Real verbs: boots Debian's kernel in a virtual machine without hardware virtualisation, with a software card
# of RDMA (rdma_rxe), and runs the tests of `hca` that need a card, and MPI programs on two nodes, over it.
# Usage: tests/virtual-test.sh PREFIX
#   TERN_TEST_VIRTUAL_LIMIT   seconds for the machine, from power on to power off [360; it needs
#                             a quarter of them where nothing else runs]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
place=$root/target/virtual

code=0
why=$("$here/virtual/prepare.sh" "$place") || code=$?
if [ "$code" -eq 77 ]; then
    echo "SKIP virtual machine: ${why##*
}"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
[ "$code" -eq 0 ] || { echo "$why"; exit "$code"; }

# Everything is compiled here, where it does not take ten times as long; as the tests of the crates are, so that
# what they need is there.
binaries=$(cd "$root" && cargo test --workspace --features tern-hca/conformance --test rdma_core --no-run 2>&1 |
    sed -n 's/^ *Executable .*(\(.*\))$/\1/p' | while read -r path; do readlink -f "$path"; done)
[ -n "$binaries" ] || { echo "the tests of hca were not built"; exit 1; }

TERN_TEST_DIR=$place/programs TERN_TEST_STEP=compile "$here/run.sh" "$prefix" $("$here/virtual/inside.sh") > "$place/compile.log" ||
    { cat "$place/compile.log"; exit 1; }

# shellcheck disable=SC2086
"$here/virtual/run.sh" "$place" "${TERN_TEST_VIRTUAL_LIMIT:-360}" \
    "$here/virtual/inside.sh" "$prefix" "$place/programs" $binaries
