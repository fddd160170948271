#!/bin/sh
# Unit tests of crates under the address sanitizer, which finds accesses outside of objects, or after their end.
# Usage: scripts/sanitize.sh [CRATE...]     [layout copy policy device registration pmi]
# Needs: a nightly toolchain (rustup toolchain install nightly).
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- layout copy policy device registration pmi
if ! cargo +nightly --version > /dev/null 2>&1; then
    echo "skipped: there is no nightly toolchain: rustup toolchain install nightly"
    echo "0 passed, 0 failed, $# skipped"
    exit 0
fi
# Statics that live as long as the process are no leaks, and children of tests end without giving memory back.
export ASAN_OPTIONS=detect_leaks=0
export PROPTEST_CASES="${PROPTEST_CASES:-32}" RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/address
failed=0
for name; do
    # With a target, flags are for it alone: build scripts and macros run without the sanitizer.
    cargo +nightly test -q --target x86_64-unknown-linux-gnu -p "tern-$name" --lib || failed=$((failed + 1))
done
echo "$(($# - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
