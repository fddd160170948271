#!/bin/sh
# `tern-bench rdma` measures every comparison of the network device, in small: each has a table, and each plot is drawn. So does
# `tern-bench knem` of the mechanisms inside a node. What the figures are is not looked at. `tern-bench papers` measures, judges, draws, and
# goes on where it stopped; its pages name no size that their tables lack, and figures that are older than the library are told.
# Usage: tests/figures-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$root/tests/common.sh"
make_place

mkdir "$place/docs"

# measure SUITE ARGUMENTS...: its report is put into a page that has a place for it.
measure() {
    suite=$1
    shift
    printf '<!-- written by tern-bench %s, from here -->\n<!-- written by tern-bench %s, to here -->\n' "$suite" "$suite" \
        > "$place/docs/$suite.md"
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
    measure knem --libraries tern --sizes 65536 \
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
    measure rdma && plots rdma 10
}

try names names
# repeat ARGUMENTS...: some figures of the papers, in small.
repeat() {
    "$prefix/bin/tern-bench" papers --quick --patience 0 --tern "$prefix" --source "$root/bench" --output "$place" \
        --libraries tern --paper knem,frequent --figure 3,12 "$@" > "$place/said" 2> "$place/errors" && return
    cat "$place/errors"
    return 1
}

# papers: a verdict, a table and a plot of each figure; a second run measures nothing, and one that is asked to measures anew.
papers() {
    repeat --markdown "$place/pages" || return 1
    for words in '^\*\*Verdict:\*\* of 1 round only, \(agrees\|differs\)' '^| search | ' '^| pingpong_off | '; do
        grep -q "$words" "$place/said" || { echo "no line $words"; return 1; }
    done
    for plot in frequent-buffers-2009_figure_3 knem-2013_figure_12; do
        [ -s "$place/pages/plots/$plot.svg" ] || { echo "no plot $plot"; return 1; }
    done
    grep -q '^| figure 12 | .* 1 round' "$place/pages/knem-2013.md" || { echo "no row of figure 12"; return 1; }
    cp "$place/papers/ping-pong/figures.csv" "$place/before"
    repeat || return 1
    cmp -s "$place/papers/ping-pong/figures.csv" "$place/before" || { echo "what was there was measured again"; return 1; }
    repeat --rounds 2 || return 1
    grep -q 'ping-pong: goes on after 1 of 2 rounds' "$place/errors" || { echo "it did not go on"; return 1; }
    cp "$place/papers/ping-pong/figures.csv" "$place/before"
    repeat --again || return 1
    ! cmp -s "$place/papers/ping-pong/figures.csv" "$place/before" || { echo "--again measures nothing"; return 1; }
}

# pages: those of docs/papers say what was run. One that names another size is found.
pages() {
    "$prefix/bin/tern-bench" papers --check "$root/docs/papers" || return 1
    mkdir "$place/wrong"
    cp "$root"/docs/papers/*.md "$place/wrong"
    sed '0,/^\*Measured:\* /s//*Measured:* 3 MiB, /' "$root/docs/papers/knem-2013.md" > "$place/wrong/knem-2013.md"
    ! "$prefix/bin/tern-bench" papers --check "$place/wrong" > "$place/said" 2>&1 || { echo "3 MiB is not found"; return 1; }
    grep -q 'the text names 3 MiB' "$place/said" || { cat "$place/said"; return 1; }
}

try papers papers
try pages pages
try rdma rdma
try knem knem
if ! [ -e /dev/tern ]; then
    skipped=1
    echo "skip knem by the kernel module: /dev/tern is not there"
fi
sums
