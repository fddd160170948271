#!/bin/sh
# Every test, on what is installed in PREFIX: those of the crates, the C programs under tests/, and
# mpi4py's own suite. Goes on after a failure and says at the end what failed.
# Usage: scripts/test.sh PREFIX
#   TERN_TEST_RANKS   numbers of ranks for mpi4py's suite [1 2 4]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?"usage: $0 PREFIX"}
failed=

part() {
    name=$1
    shift
    printf '\n== %s ==\n' "$name"
    "$@" || failed="$failed
  $name: $*"
}

cd "$root"
part "lints" cargo clippy --workspace --all-targets -- -D warnings
part "tests of the crates" cargo test --workspace
part "C programs" tests/run.sh "$prefix"
for test in tests/*-test.sh; do
    [ -e "$test" ] || continue
    part "${test##*/}" "$test" "$prefix"
done
# shellcheck disable=SC2086
part "mpi4py" tests/mpi4py.sh "$prefix" ${TERN_TEST_RANKS:-1 2 4}

if [ -n "$failed" ]; then
    printf '\nFailed:%s\n' "$failed"
    exit 1
fi
printf '\nAll tests passed.\n'
