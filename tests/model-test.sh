#!/bin/sh
# Processes in virtual time (`tern-bench model`): how many lines cross borders of a large node, without a clock; two runs are equal; unchanged C programs
# come to their ends with right results.
# Usage: tests/model-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
export TERN_TEST_DIR="$place/programs"
evidence=$place/log
machine=2x-epyc-7r13

model() {
    timeout "${seconds:-300}" "$prefix/bin/tern-bench" model --tern "$prefix" --output "$place/output" --machine $machine "$@" 2>> "$evidence"
}

# crossing BORDER LINE: how many lines cross that border, as the line says; 999999 if it does not.
crossing() {
    echo "$2" | awk -v border="$1=" '{ for (at = 1; at <= NF; at++) if (index($at, border) == 1) lines = substr($at, length(border) + 1) }
        END { print lines == "" ? 999999 : lines }'
}

# Two packages with six caches each: at most so many lines for each border, owners' requests among them. Lines across packages cross caches too.
is_within() {
    package=$(crossing package "$1") cache=$(crossing l3 "$1")
    [ "$package" -le 6 ] && [ "$cache" -le 46 ]
}

if [ ! -e "$prefix/lib/tern-model/libmpi_abi.so.1" ]; then
    skip "processes in virtual time" "no library for them: make check-model builds it, in some minutes"
    sums
    exit
fi

echo "-- 96 ranks"
line=$(model --ranks 96 --plain allreduce 8) || true
if is_within "$line"; then ok "few lines cross borders: $line"; else fail "few lines cross borders" "$line"; fi
again=$(model --ranks 96 --plain allreduce 8) || true
if [ -n "$line" ] && [ "$line" = "$again" ]; then ok "two runs are equal"; else fail "two runs are equal" "$line, then $again"; fi
line=$(model --ranks 96 --plain bcast 1048576) || true
package=$(crossing package "$line")
# A line and the request for it, 16,384 times; a sixteenth more for the turns' own lines.
if [ "$package" -le 34816 ]; then ok "1 MiB crosses the packages once: $line"; else fail "1 MiB crosses the packages once" "$line"; fi

"$prefix/bin/mpicc" -O2 -o "$place/line" "$here/model/line.c"
# told [WORD]: what the last passage of the program has moved.
told() { model --ranks 96 -- "$place/line" "$@" | grep '^from 1 to 2:' || true; }
line=$(told)
if is_within "$line"; then ok "the same from a program of one's own: $line"; else fail "the same from a program of one's own" "$line"; fi
line=$(told more)
if [ -n "$line" ] && ! is_within "$line"; then ok "a shared line more is seen: $line"; else fail "a shared line more is seen" "$line"; fi

echo "-- C programs"
programs="coll_ways coll_intra coll_roots coll_types coll_vector p2p_sendrecv p2p_order p2p_complete p2p_types p2p_truncate"
compiled
for program in $programs; do
    for ranks in 4 8; do
        : > "$evidence"
        if model --ranks $ranks -- "$TERN_TEST_DIR/$program" >> "$evidence"; then
            ok "$program at $ranks ranks"
        else
            fail "$program at $ranks ranks"
        fi
    done
done

echo "-- without the library"
mkdir -p "$place/none"
said=$("$prefix/bin/tern-bench" model --tern "$place/none" --machine $machine --ranks 4 --plain barrier 0 2>&1) || true
case $said in *"make model"*) ok "it is told how the library is built" ;; *) fail "it is told how the library is built" "$said" ;; esac
sums
