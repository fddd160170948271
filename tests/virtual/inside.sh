#!/bin/sh
# What tests/virtual-test.sh runs inside the machine.
# Usage: tests/virtual/inside.sh PREFIX PROGRAMS BINARY...
#   PROGRAMS: where the compiled programs of tests/c are; BINARY: tests of `hca` that need a card
set -u

failed=0
shift 2
for binary; do
    timeout 100 "$binary" --include-ignored --test-threads 1 || failed=1
done
exit "$failed"
