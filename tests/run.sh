#!/bin/sh
# Compiles the C programs under tests/c with an installed Tern's mpicc and runs them.
# Usage: tests/run.sh PREFIX [NAME...]     for example: tests/run.sh target/prefix coll_intra
#
# Comment lines at the top of a program say how:
#   // ranks: 1 2 4          numbers of ranks, one run each [1 2]
#   // expect-exit: 0        exit code of mpiexec; `nonzero` for any but 0 [0]
#   // expect-output: TEXT   a basic regular expression that a line of the output must match
#   // timeout: 60           seconds for a run [60]
#   // flags: -lm            more arguments for mpicc
#   // mpiexec: -env A=B     more arguments for mpiexec
#   // needs: COMMAND        skipped, aloud, where that shell command fails
#   // nodes: 1              most simulated nodes that it is for [any number]
# A program that finds out by itself that it cannot test here prints a line `skipped: REASON` and ends with 0.
# TERN_TEST_DIR: where programs and logs go [target/tests-c]. Exit code: 0 when nothing failed.
# TERN_TEST_UNDER: a command that stands before mpiexec, TERN_TEST_INSIDE: before the program.
# TERN_TEST_LAUNCHER: another launcher's command in place of mpiexec; the number of ranks comes behind it. Programs that
# want more of mpiexec than variables are skipped, aloud.
# TERN_TEST_NODES: how many simulated nodes the ranks are divided into; no more than there are ranks [1].
# TERN_TEST_MOST_RANKS: runs with more ranks are left out [1000].
# TERN_TEST_ONCE: `yes` for one run of each program, that with most ranks of those that are left [no].
# TERN_TEST_STEP: `compile` to run nothing, `run` for programs that were compiled into TERN_TEST_DIR before [both].
# TERN_TEST_PATIENCE: how many times as long as it says a program may run, where much else runs [1].
# TERN_TEST_CC: another compiler than Tern's mpicc; what it does not compile is skipped, aloud.
# TERN_TEST_WARNINGS: how many lines of its own, beside notes, Tern may write in a run that ends well [any number].
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: $0 PREFIX [NAME...]" >&2; exit 2; }
prefix=$(cd "$1" && pwd)
shift
build=${TERN_TEST_DIR:-$here/../target/tests-c}
mkdir -p "$build"
. "$here/common.sh"

# Of a header line `// KEY: VALUES` in file $source: the values, or $2.
said() {
    values=$(sed -n "1,20s|^// $1: *||p" "$source")
    printf '%s\n' "${values:-$2}"
}

own_lines() { grep -E '^tern(\[[0-9]+\])?: ' "$evidence" | grep -c -v -E '^tern(\[[0-9]+\])?: note: ' || true; }

run() {
    ranks=$1
    label="$name, $ranks ranks"
    evidence=$build/$name.$ranks.log
    nodes=${TERN_TEST_NODES:-1}
    [ "$nodes" -le "$ranks" ] || nodes=$ranks
    [ "$nodes" -le "$most_nodes" ] || nodes=$most_nodes
    if [ "${TERN_TEST_NODES:-1}" -gt 1 ]; then
        # What runs on one node has been tested as such.
        [ "$nodes" -gt 1 ] || return 0
        label="$label, $nodes nodes"
        evidence=$build/$name.$ranks.$nodes.log
    fi
    code=0
    if [ -n "${TERN_TEST_LAUNCHER:-}" ]; then
        # shellcheck disable=SC2046,SC2086
        set -- $TERN_TEST_LAUNCHER "$ranks" env $(printf '%s\n' "$arguments" | sed 's/-env //g; s/-x //g')
    else
        # shellcheck disable=SC2086
        set -- "$prefix/bin/mpiexec" --nodes "$nodes" -n "$ranks" $arguments
    fi
    # shellcheck disable=SC2086
    timeout -k 5 "$limit" ${TERN_TEST_UNDER:-} "$@" \
        ${TERN_TEST_INSIDE:-} "$build/$name" < /dev/null > "$evidence" 2>&1 || code=$?
    # 124 is what timeout(1) gives, and 137 when it had to kill.
    if [ "$code" = 124 ] && [ "$expected" != 124 ]; then
        fail "$label" "did not end in $limit s"
    elif [ "$expected" = nonzero ] && [ "$code" -eq 0 ]; then
        fail "$label" "exit code 0, expected another"
    elif [ "$expected" != nonzero ] && [ "$code" -ne "$expected" ]; then
        fail "$label" "exit code $code, expected $expected"
    elif [ -n "$output" ] && ! grep -q -e "$output" "$evidence"; then
        fail "$label" "no line matches: $output"
    elif [ "$code" -eq 0 ] && [ "$(own_lines)" -gt "${TERN_TEST_WARNINGS:-1000}" ]; then
        fail "$label" "$(own_lines) lines of Tern's own"
    elif grep -q '^skipped: ' "$evidence"; then
        skip "$label" "$(sed -n 's/^skipped: //p' "$evidence" | head -n 1)"
    else
        ok "$label"
    fi
}

if [ $# -eq 0 ]; then
    set -- "$here"/c/*.c
fi
for program; do
    name=${program##*/}
    name=${name%.c}
    source=$here/c/$name.c
    [ -e "$source" ] || { echo "no program $source" >&2; exit 2; }
    needs=$(said needs true)
    if ! sh -c "$needs" > /dev/null 2>&1; then
        skip "$name" "needs $needs"
        continue
    fi
    evidence=$build/$name.compile.log
    # shellcheck disable=SC2046
    if [ "${TERN_TEST_STEP:-both}" != run ] && ! ${TERN_TEST_CC:-"$prefix/bin/mpicc"} -std=gnu11 -O1 -g -Wall -o "$build/$name" "$source" $(said flags '') > "$evidence" 2>&1; then
        if [ -n "${TERN_TEST_CC:-}" ]; then
            skip "$name" "does not compile: $(grep -m 1 -o 'error: .*' "$evidence" || true)"
        else
            fail "$name" "does not compile"
        fi
        continue
    fi
    [ "${TERN_TEST_STEP:-both}" != compile ] || continue
    expected=$(said expect-exit 0)
    output=$(said expect-output '')
    limit=$(($(said timeout 60) * ${TERN_TEST_PATIENCE:-1}))
    arguments=$(said mpiexec '')
    if [ -n "${TERN_TEST_LAUNCHER:-}" ] && printf '%s\n' "$arguments" | sed 's/-env [^ ]*=[^ ]*//g; s/-x [^ ]*=[^ ]*//g' | grep -q '[^ ]'; then
        skip "$name" "needs mpiexec $arguments"
        continue
    fi
    most_nodes=$(said nodes 1000)
    numbers=
    for ranks in $(said ranks '1 2'); do
        [ "$ranks" -gt "${TERN_TEST_MOST_RANKS:-1000}" ] || numbers="$numbers $ranks"
    done
    # The numbers of a program are in rising order.
    [ "${TERN_TEST_ONCE:-no}" = no ] || numbers=${numbers##* }
    for ranks in $numbers; do
        run "$ranks"
    done
done
sums
