#!/bin/sh
# `tern-bench scale` measures collectives of Tern in small, also with more ranks than cores, and writes figures, report, plots and an archive, from which
# it writes the same report again. Peers that are missing are told, and ranks run where they should. What the figures are is not looked at.
# Usage: tests/scale-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$root/tests/common.sh"
make_place
evidence=$place/errors

# scale ARGUMENTS...: some collectives of all cores and of more ranks than cores.
crowd=$(($(nproc) + 1))
scale() {
    TERN_PEERS_DIR=$place/nothing "$prefix/bin/tern-bench" scale --quick --patience 0 --tern "$prefix" --source "$root/bench" \
        --output "$place" --libraries tern,openmpi --only barrier,allreduce,exscan,allgather,alltoall --sizes 8,4096 \
        --ranks "2,$crowd" "$@" > "$place/said" 2> "$place/errors"
}

# whole: a table for each collective and number of ranks, with both sizes, and all plots.
whole() {
    scale || return 1
    for ranks in 2 "$crowd"; do
        for collective in barrier allreduce exscan allgather alltoall; do
            grep -q "^\*\*$collective, $ranks ranks\*\* (us)$" "$place/scale/report.md" || { echo "no $collective of $ranks"; return 1; }
        done
        [ -s "$place/scale/ranks-$ranks.svg" ] || { echo "no plot of $ranks ranks"; return 1; }
    done
    [ "$(grep -c '^| 4 KiB | \*\*' "$place/scale/report.md")" -eq 8 ] || { echo "not four collectives of 4 KiB, twice"; return 1; }
    [ -s "$place/scale/size-8-B.svg" ] || { echo "no plot over ranks"; return 1; }
}

# missing: what is not installed is told there and then, and in the report; so are ranks that are not where they should be, of which there are none.
missing() {
    for line in openmpi openmpi-xhc openmpi-acoll; do
        grep -q "^SKIPPED $line, all: .*run .tern-bench peers" "$place/errors" || { echo "$line is not told"; return 1; }
        grep -q "^- $line, all: " "$place/scale/report.md" || { echo "the report lacks $line"; return 1; }
    done
    ! grep 'places of' "$place/errors" || return 1
    grep -q 'No peer was measured' "$place/said"
}

# archive: it has the files that are told, and a report and plots are made from it elsewhere.
archive() {
    grep -q "^To send: $place/scale/tern-scale.tar.gz " "$place/said" || { echo "no line tells what to send"; return 1; }
    mkdir "$place/other"
    cp "$place/scale/tern-scale.tar.gz" "$place/other"
    "$prefix/bin/tern-bench" scale --results "$place/other/tern-scale.tar.gz" > "$place/said" 2> "$place/errors" || return 1
    for file in report.md figures.json "ranks-$crowd.svg"; do
        cmp "$place/other/$file" "$place/scale/$file" || return 1
    done
    cp "$place/scale/figures.json" "$place/other/sent.json"
    "$prefix/bin/tern-bench" scale --results "$place/other/sent.json" --output "$place/again" > "$place/said" 2> "$place/errors" || return 1
    cmp "$place/again/scale/report.md" "$place/scale/report.md"
}

for what in whole missing archive; do
    if "$what"; then
        ok "$what"
    else
        fail "$what"
    fi
done
if command -v taskset > /dev/null && [ "$(nproc)" -gt 1 ]; then
    # All of one core: two ranks share it.
    if taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$prefix/bin/tern-bench" scale --quick --patience 0 --tern "$prefix" \
        --source "$root/bench" --output "$place/one" --libraries tern --only barrier > "$place/said" 2> "$place/errors" &&
        grep -q '^\*\*barrier, 2 ranks' "$place/one/scale/report.md"; then
        ok "one core"
    else
        fail "one core"
    fi
else
    skip "one core" "there is no taskset, or one core only"
fi
sums
