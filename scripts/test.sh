#!/bin/sh
# Every test, on what is installed in PREFIX: those of the crates, the C programs under tests/, and
# mpi4py's own suite. Goes on after a failure. At the end it says where the time went and what failed, and
# in its last line how much there was: `N passed, N failed, N skipped`.
# Usage: scripts/test.sh PREFIX
#   TERN_TEST_RANKS   numbers of ranks for mpi4py's suite [1 2 4]
#   TERN_TEST_LIMIT   seconds after which a part is stopped and has failed [none]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?"usage: $0 PREFIX"}
logs=$(mktemp -d)
passed=0 failed=0 skipped=0
bad=

finish() {
    trap - EXIT INT TERM
    printf '\n%8s %8s  %s\n' seconds 'of cpu' part
    cat "$logs/times" 2> /dev/null || true
    rm -rf "$logs"
    [ -z "$bad" ] || printf '\nFailed:%s\n' "$bad"
    printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" -eq 0 ]
    exit
}
stopped() {
    failed=$((failed + 1))
    bad="$bad
  stopped in: $name"
    finish
}
name=start
trap stopped INT TERM
trap finish EXIT

# Adds up what a part has printed: lines with `N passed, N failed, N skipped` or, as cargo has it,
# `N passed; N failed; N ignored`. A part without such a line counts as one test; so does one that
# fails though none of its tests did.
count() {
    # shellcheck disable=SC2046
    set -- "$1" $(sed -nE 's/^(.*[^0-9])?([0-9]+) passed[,;] ([0-9]+) failed[,;] ([0-9]+) (skipped|ignored).*/\2 \3 \4/p' "$2" |
        awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0, NR }')
    code=$1
    passed=$((passed + $2))
    failed=$((failed + $3))
    skipped=$((skipped + $4))
    if [ "$code" -ne 0 ]; then
        [ "$3" -gt 0 ] || failed=$((failed + 1))
    elif [ "$5" -eq 0 ]; then
        passed=$((passed + 1))
    fi
}

# Leaves in `cpu` the processor seconds of all that this script has run. (A subshell has none to tell.)
ask_cpu() {
    times > "$logs/cpu"
    cpu=$(tr 'ms' '  ' < "$logs/cpu" | awk 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }')
}

# The first lines of a part's output that say which test failed, and how.
failures() {
    grep -aE -A 1 '^ *FAIL|^ERROR: |^test .*FAILED$|^error(:|\[)|panicked at ' "$1" | grep -av '^--$' | head -n 12 |
        cut -c 1-240 | sed 's/^/      /'
}

# part NAME COMMAND...
part() {
    name=$1
    shift
    ask_cpu
    started=$(date +%s) before=$cpu
    printf '\n== %s ==\n' "$name"
    {
        code=0
        ${TERN_TEST_LIMIT:+timeout --kill-after=30 "$TERN_TEST_LIMIT"} "$@" 2>&1 || code=$?
        case $code in 124 | 137) echo "FAIL stopped with $code, by ${TERN_TEST_LIMIT:-no} s of TERN_TEST_LIMIT" ;; esac
        echo "$code" > "$logs/code"
    } | tee "$logs/output"
    code=$(cat "$logs/code")
    ask_cpu
    printf '%8d %8d  %s\n' $(($(date +%s) - started)) $((cpu - before)) "$name" | tee -a "$logs/times"
    count "$code" "$logs/output"
    [ "$code" -eq 0 ] || bad="$bad
  $name: $*
$(failures "$logs/output")"
}

cd "$root"
# With the tests that both kinds of network card must pass.
features=tern-hca/conformance
part "format" cargo fmt --all -- --check
part "lints" cargo clippy --workspace --features $features --all-targets -- -D warnings
# Of the maintainers: links to what is private are meant.
part "documentation" env RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" \
    cargo doc --workspace --no-deps --document-private-items
# The library that is tested is the one that is installed.
part "tests of the crates" env TERN_TEST_LIBRARY="$prefix/lib/libmpi_abi.so.1" \
    cargo test --workspace --features $features --no-fail-fast
part "model checker" scripts/loom.sh
part "C programs" tests/run.sh "$prefix"
for test in tests/*-test.sh; do
    [ -e "$test" ] || continue
    part "${test##*/}" "$test" "$prefix"
done
# shellcheck disable=SC2086
part "mpi4py" tests/mpi4py.sh "$prefix" ${TERN_TEST_RANKS:-1 2 4}
