#!/bin/sh
# All that reads bytes from outside, with bytes at random and with damaged ones: messages of launchers, tickets, handshakes,
# packets, addresses, files of costs. The tests are those of `make test`, with many more cases, and with checks of arithmetic.
# Usage: scripts/fuzz.sh [CASES]     [20000]
set -eu

cd "$(dirname "$0")/.."
export PROPTEST_CASES="${1:-20000}"
crates='-p tern-pmi -p tern-launch -p tern-tune -p tern-hca -p tern-tcp -p tern-verbs -p tern-ofi -p tern-rma'
# shellcheck disable=SC2086
exec cargo test -q $crates --lib --bins -- damaged any_bytes_are_read any_text_is_read any_lines_are_read
