#!/bin/sh
# Tests of crates with threads under the thread sanitizer, which finds accesses to memory that nothing orders. It sees one process: what
# processes share is loom's (scripts/loom.sh). It cannot follow tests that start processes by clone, which are left out.
# scripts/threads.supp lists its false alarms.
# Usage: scripts/sanitize-threads.sh [CRATE...]     [region shm tcp hca copy device]
# Needs: a nightly toolchain with the sources of the standard library (rustup toolchain install nightly -c rust-src).
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- region shm tcp hca copy device
if ! [ -e "$(rustc +nightly --print sysroot 2> /dev/null)/lib/rustlib/src/rust/library/Cargo.lock" ]; then
    echo "skipped: no nightly toolchain has the sources: rustup toolchain install nightly -c rust-src"
    echo "0 passed, 0 failed, $# skipped"
    exit 0
fi
export TSAN_OPTIONS="suppressions=$PWD/scripts/threads.supp" PROPTEST_CASES="${PROPTEST_CASES:-16}"
# The standard library is built with the sanitizer too, which cannot be done for panic=abort. Rustix maps memory by the C library, where the
# sanitizer sees that an address is mapped anew.
export CARGO_PROFILE_DEV_PANIC=unwind CARGO_TARGET_DIR=target/thread
export RUSTFLAGS="-Zsanitizer=thread --cfg=rustix_use_libc"
# They count address space and page faults, of which the sanitizer takes its own, or look at errors of calls that it has replaced.
skip='--skip a_limit_on_address_space_is_an_error --skip a_first_write_costs_few_faults --skip dropped_views_are_unmapped'
failed=0
for name; do
    case $name in
    # Not those that build and start programs.
    region) tests='--lib --test regions --test space --test failures' ;;
    mcm) tests='--lib --test lock' ;;
    registration) tests=--lib ;;
    *) tests='--lib --tests' ;;
    esac
    # shellcheck disable=SC2086
    cargo +nightly test -q -Zbuild-std --target x86_64-unknown-linux-gnu -p "tern-$name" $tests -- $skip ||
        failed=$((failed + 1))
done
echo "$(($# - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
