#!/bin/sh
# Instructions of short calls, beside those that docs/budget.md allows: at most 3 % and 2 instructions more. Skipped, aloud,
# without valgrind.
# Usage: tests/instructions-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
if ! command -v valgrind > /dev/null; then
    echo "SKIP: valgrind is not installed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$root"
"$prefix/bin/tern-bench" instructions --libraries tern --tern "$prefix" --output "$work/out" > "$work/counted" 2> "$work/log" ||
    { cat "$work/log"; exit 1; }
awk -F ' *[|] *' '
    # Rows of a table of instructions: calls, Tern.
    FNR == NR { if ($3 ~ /^[0-9]+$/) budget[$2] = $3; next }
    $3 ~ /^[0-9]+$/ { counted[$2] = $3 }
    END {
        for (calls in budget) {
            most = budget[calls] * 1.03 + 2
            if (!(calls in counted)) { failed++; print "FAIL " calls ": not counted" }
            else if (counted[calls] > most) { failed++; print "FAIL " calls ": " counted[calls] " instructions, budget " budget[calls] }
            else {
                passed++
                print "ok   " calls ": " counted[calls] " instructions, budget " budget[calls] (counted[calls] < budget[calls] * 0.97 ? ", which can be lowered" : "")
            }
        }
        if (!passed && !failed) { failed = 1; print "FAIL docs/budget.md has no budget" }
        printf "%d passed, %d failed, 0 skipped\n", passed, failed
        exit failed > 0
    }' docs/budget.md "$work/counted" && code=0 || code=1
[ "$code" = 0 ] || tail -n 15 "$work/log"
exit "$code"
