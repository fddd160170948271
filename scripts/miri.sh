#!/bin/sh
# Unit tests under Miri, which finds undefined behaviour: of crates whose tests make no system calls and no vectors of the processor.
# Usage: scripts/miri.sh [CRATE...]     [policy device]
# Needs: a nightly toolchain with Miri (rustup toolchain install nightly -c miri -c rust-src). Takes ten minutes.
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- policy device
if ! cargo +nightly miri --version > /dev/null 2>&1; then
    echo "skipped: Miri is not installed: rustup toolchain install nightly -c miri -c rust-src"
    echo "0 passed, 0 failed, $# skipped"
    exit 0
fi
# Few random cases: each step takes a thousand times as long as by the processor.
export PROPTEST_CASES="${PROPTEST_CASES:-2}"
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance"
failed=0
for name; do
    CARGO_TARGET_DIR=target/miri cargo +nightly miri test -q -p "tern-$name" --lib || failed=$((failed + 1))
done
echo "$(($# - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
