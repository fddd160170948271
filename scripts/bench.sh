#!/bin/sh
# Tern as installed in PREFIX beside the other MPI libraries, which are installed from PyPI into
# target/peers the first time. The table is printed, and written to target/bench/report.md.
# Usage: scripts/bench.sh PREFIX [ARGUMENTS OF tern-bench]     [all]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${1:?"usage: $0 PREFIX [ARGUMENTS]"}
prefix=$(cd "$prefix" && pwd)
shift
[ $# -gt 0 ] || set -- all

cd "$root"
"$prefix/bin/tern-bench" peers
exec "$prefix/bin/tern-bench" "$@" --tern "$prefix" --source "$root/bench" --output "$root/target/bench"
