#!/bin/sh
# `tern-bench rdma` measures every comparison of the network device, in small: each has a table, and each plot is drawn. What
# the figures are is not looked at.
# Usage: tests/figures-test.sh PREFIX
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM

mkdir "$place/docs"
cp "$root/docs/benchmarks/network-device.md" "$place/docs/page.md"
code=0
"$prefix/bin/tern-bench" rdma --quick --tern "$prefix" --source "$root/bench" --output "$place" \
    --markdown "$place/docs/page.md" > "$place/said" 2> "$place/errors" || code=$?
if [ "$code" -ne 0 ]; then
    cat "$place/errors"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
failed=0
# Every plot that the page names is there, and there are some.
names=$(sed -n 's/^!\[.*\](plots\/\(rdma_.*\))$/\1/p' "$place/docs/page.md")
[ "$(echo "$names" | wc -w)" -ge 10 ] || { echo "only these plots: $names"; failed=1; }
for name in $names; do
    [ -s "$place/docs/plots/$name" ] || { echo "no plot $name"; failed=1; }
done
echo "$((1 - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
