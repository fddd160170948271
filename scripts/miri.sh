#!/bin/sh
# Unit tests under Miri, which finds undefined behaviour: of the crates that match messages, lay out and copy memory, and decide. What Miri
# cannot do is left out by name, and told with its reason.
# Usage: scripts/miri.sh [CRATE...]     [policy device copy layout adi]
# Needs: a nightly toolchain with Miri (rustup toolchain install nightly -c miri -c rust-src). Takes half an hour and more.
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- policy device copy layout adi
if ! cargo +nightly miri --version > /dev/null 2>&1; then
    echo "skipped: Miri is not installed: rustup toolchain install nightly -c miri -c rust-src"
    echo "0 passed, 0 failed, $# skipped"
    exit 0
fi
# Few random cases: each step takes a thousand times as long as by the processor.
export PROPTEST_CASES="${PROPTEST_CASES:-2}"
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance"
passed=0 failed=0 skipped=0

# left_out CRATE: tests and modules of tests, each with the reason.
left_out() {
    case $1 in
    copy)
        echo "short_copies_at_every_alignment its memory lies between guard pages: Miri has no mprotect"
        echo "copies_up_to_the_guard_pages its memory lies between guard pages: Miri has no mprotect"
        echo "hints_change_no_memory_and_touch_no_guard its memory lies between guard pages: Miri has no mprotect"
        echo "long_copies its memory lies between guard pages, and is megabytes"
        ;;
    layout)
        echo "both_ends_give_the_same megabytes, byte by byte"
        echo "of_blocks_that_overlap_the_last_one_counts megabytes, byte by byte"
        ;;
    adi)
        echo "buckets_stay_short_however_many_queues_there_are hundreds of thousands of entries"
        echo "tuple::explore all orders of a model without unsafe code, millions of steps"
        echo "tuple::queues all orders of a model without unsafe code, millions of steps"
        echo "tuple::afar all orders of a model without unsafe code, millions of steps"
        ;;
    esac
}

# under_miri CRATE
under_miri() {
    crate=$1
    set --
    while read -r name why; do
        [ -n "$name" ] || continue
        # A name that nobody has leaves nothing out, and would be told all the same.
        if ! grep -rqE "(fn|mod) ${name##*::}\b" "$(find crates -path "*/$crate/src")"; then
            echo "FAIL $crate: there is no test $name to leave out"
            failed=$((failed + 1))
        fi
        echo "SKIP $crate: $name: $why"
        skipped=$((skipped + 1))
        set -- "$@" --skip "$name"
    done <<EOF
$(left_out "$crate")
EOF
    if CARGO_TARGET_DIR=target/miri cargo +nightly miri test -q -p "tern-$crate" --lib -- "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

for crate; do
    under_miri "$crate"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
