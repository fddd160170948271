#!/bin/sh
# `tern-bench rdma` measures every comparison of the network device, in small: each has a table, and each plot is drawn. So does
# `tern-bench knem` of the mechanisms inside a node. What the figures are is not looked at.
# Usage: tests/figures-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$root/tests/common.sh"
make_place

mkdir "$place/docs"

# measure SUITE PAGE ARGUMENTS...: its report is put into a copy of the page.
measure() {
    suite=$1 page=$2
    shift 2
    cp "$root/$page" "$place/docs/$suite.md"
    "$prefix/bin/tern-bench" "$suite" --quick --patience 0 --tern "$prefix" --source "$root/bench" --output "$place" \
        --markdown "$place/docs/$suite.md" "$@" > "$place/said" 2> "$place/errors" && return
    cat "$place/errors"
    return 1
}

# plots SUITE LEAST: every plot that the page names is there, and there are so many.
plots() {
    names=$(sed -n 's/^!\[.*\](plots\/\('"$1"'_.*\))$/\1/p' "$place/docs/$1.md")
    [ "$(echo "$names" | wc -w)" -ge "$2" ] || { echo "only these plots: $names"; return 1; }
    for name in $names; do
        [ -s "$place/docs/plots/$name" ] || { echo "no plot $name"; return 1; }
    done
}

# knem: rows for each mechanism that is there, and for the programs.
knem() {
    measure knem docs/papers/knem.md --libraries tern --sizes 65536 \
        --only pingpong,sendrecv,exchange,reduce,bcast,asp || return 1
    for columns in '| Tern | pipe | mapped | cma |' '| sender writes | receiver reads |' '| one region | one for each |' \
        '| Tern | tree, pipe | tree, cma | lines | region |'; do
        grep -qF "$columns" "$place/docs/knem.md" || { echo "no columns $columns"; return 1; }
    done
    # Tables of what was measured while the cores were far apart may have gaps.
    awk '/^\*\*/ { far = /cores far apart/ } !far' "$place/docs/knem.md" > "$place/near"
    for row in pingpong sendrecv exchange reduce bcast asp asp_bcast; do
        grep "^| $row |" "$place/near" > "$place/rows" || { echo "no row $row"; return 1; }
        ! grep -q '| - |.*| - |' "$place/rows" || { echo "a mechanism is missing:"; cat "$place/rows"; return 1; }
    done
    plots knem 5
}

# names: who asks for a benchmark that is not there is told which are, and an earlier report stays.
names() {
    mkdir "$place/earlier"
    echo earlier > "$place/earlier/report.md"
    ! "$prefix/bin/tern-bench" p2p --only nothing --libraries tern --tern "$prefix" --source "$root/bench" --output "$place/earlier" \
        > "$place/said" 2> "$place/errors" || return 1
    grep -q 'no benchmark nothing .*, pingpong,' "$place/errors" || { cat "$place/errors"; return 1; }
    [ "$(cat "$place/earlier/report.md")" = earlier ]
}

# try NAME COMMAND...
try() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        fail "$name"
    fi
}

rdma() {
    measure rdma docs/benchmarks/network-device.md && plots rdma 10
}

try names names
try rdma rdma
try knem knem
if ! [ -e /dev/tern ]; then
    skipped=1
    echo "skip knem by the kernel module: /dev/tern is not there"
fi
sums
