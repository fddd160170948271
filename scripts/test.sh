#!/bin/bash
# Every test, on what is installed in PREFIX: those of the crates, the C programs under tests/, and
# mpi4py's own suite. Goes on after a failure. At the end it says where the time went, beside the run before (target/test-times keeps
# that), and what failed, and in its last line how much there was: `N passed, N failed, N skipped`.
# Usage: scripts/test.sh PREFIX
#   TERN_TEST_RANKS   numbers of ranks for mpi4py's suite [1 3; `make check-deep` has 2 and 4]
#   TERN_TEST_LIMIT   seconds after which a part is stopped and has failed [none]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?"usage: $0 PREFIX"}
logs=$(mktemp -d)
passed=0 failed=0 skipped=0
bad=
limit=${TERN_TEST_LIMIT:-}
compiler=

finish() {
    trap - EXIT INT TERM
    [ -z "$compiler" ] || kill -- "-$compiler" 2> /dev/null || true
    if [ -n "$name" ]; then
        failed=$((failed + 1))
        bad="$bad
  did not come to its end: $name"
    fi
    "$root/scripts/test-times.sh" "$root/target/test-times" "$logs/times" || true
    rm -rf "$logs"
    [ -z "$bad" ] || printf '\nFailed:%s\n' "$bad"
    printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" -eq 0 ]
    exit
}
# The part that runs; empty when all have been.
name=start
trap finish EXIT INT TERM

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

# The first lines of a part's output that say which test failed, and how.
failures() {
    grep -aE -A 1 '^ *FAIL|^ERROR: |^test .*FAILED$|^error(:|\[)|panicked at ' "$1" | grep -av '^--$' | head -n 12 |
        cut -c 1-240 | sed 's/^/      /'
}

# work NAME COMMAND...: runs a part in a subshell of its own, for `times` tells what that has run. Leaves its exit
# code, and its line of the table.
work() (
    name=$1
    shift
    echo "$*" > "$logs/$name.command"
    started=$(date +%s)
    code=0
    ${limit:+timeout --kill-after=30 "$limit"} "$@" 2>&1 || code=$?
    case $code in 124 | 137) echo "FAIL stopped with $code, by ${limit:-no} s of TERN_TEST_LIMIT" ;; esac
    times > "$logs/$name.cpu"
    cpu=$(tr 'ms' '  ' < "$logs/$name.cpu" | awk 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }')
    printf '%8d %8d  %s\n' $(($(date +%s) - started)) "$cpu" "$name" > "$logs/$name.row"
    echo "$code" > "$logs/$name.code"
)

# ended NAME: a part has come to its end.
ended() {
    [ -e "$logs/$1.code" ] || { echo "FAIL it was ended" | tee -a "$logs/$1.output"; echo 1 > "$logs/$1.code"; }
    [ ! -e "$logs/$1.row" ] || tee -a "$logs/times" < "$logs/$1.row"
    code=$(cat "$logs/$1.code")
    count "$code" "$logs/$1.output"
    [ "$code" -eq 0 ] || bad="$bad
  $1: $(cat "$logs/$1.command" 2> /dev/null || true)
$(failures "$logs/$1.output")"
}

# part NAME COMMAND...
part() {
    name=$1
    printf '\n== %s ==\n' "$name"
    work "$@" | tee "$logs/$name.output"
    ended "$name"
}

# What compiles, or runs alone for long, goes beside parts whose processes wait for each other, and yields to them. Two
# processors would stand still for a third of the time.
# beside NAME COMMAND...: a part that shows nothing before `tell` does. It has no limit of its own, for what runs beside it decides how
# long it takes.
beside() { limit= work "$1" nice "${@:2}" > "$logs/$1.output"; }
# tell NAME...: waits until these are done, and shows them.
tell() {
    name="what runs beside the others"
    # What hangs is ended, so that the others are told.
    for ((second = 0; second < ${limit:-1000000}; second++)); do
        kill -0 "$compiler" 2> /dev/null || break
        sleep 1
    done
    kill -- "-$compiler" 2> /dev/null || true
    wait "$compiler" || true
    compiler=
    for name; do
        printf '\n== %s ==\n' "$name"
        # One that hangs keeps those behind it from beginning.
        cat "$logs/$name.output" 2> /dev/null || true
        ended "$name"
    done
}

cd "$root"
# With the tests that both kinds of network card must pass.
features=tern-hca/conformance
# The library that is tested is the one that is installed.
crates=(env TERN_TEST_LIBRARY="$prefix/lib/libmpi_abi.so.1" cargo test --workspace --features $features --no-fail-fast)

part "format" cargo fmt --all -- --check
# A process group of its own, which `finish` can end.
set -m
{
    beside "lints" cargo clippy --workspace --features $features --all-targets -- -D warnings
    # Of the maintainers: links to what is private are meant.
    beside "documentation" env RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" \
        cargo doc --workspace --no-deps --document-private-items
    beside "compilation of the crates' tests" "${crates[@]}" --no-run
    beside "tests of the crates" "${crates[@]}"
    beside "model checker" scripts/loom.sh
} < /dev/null &
compiler=$!
set +m
part "C programs" tests/run.sh "$prefix"
# shellcheck disable=SC2086
part "mpi4py" tests/mpi4py.sh "$prefix" ${TERN_TEST_RANKS:-1 3}
# Those that mostly wait are first, so that the processors are not idle meanwhile. Two take programs from cargo, which lets nobody in
# while it compiles: they are late. The one that measures is last, and alone.
waits="unreachable cut strangers ends hosts network"
late="kmod virtual"
for test in $waits; do part "$test-test.sh" "tests/$test-test.sh" "$prefix"; done
for test in tests/*-test.sh; do
    name=${test##*/}
    case " $waits $late figures " in
    *" ${name%-test.sh} "*) ;;
    *) part "$name" "$test" "$prefix" ;;
    esac
done
for test in $late; do part "$test-test.sh" "tests/$test-test.sh" "$prefix"; done
tell "lints" "documentation" "compilation of the crates' tests" "tests of the crates" "model checker"
part figures-test.sh tests/figures-test.sh "$prefix"
name=
