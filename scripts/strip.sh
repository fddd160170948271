#!/bin/sh
# Takes out of a program or library of any architecture what only debuggers read; for packages.
# Usage: scripts/strip.sh FILE OUT     OUT may be FILE. Exit code 127: there is no strip for that architecture.
set -eu

machine=$("$(dirname "$0")/machine.sh" "$1")
strip=strip
[ "$machine" = "$(uname -m)" ] || strip=$machine-linux-gnu-strip
# Parallel debuggers read names of mpiexec.
kind=--strip-unneeded
[ "${1##*/}" != mpiexec ] || kind=--strip-debug
exec "$strip" "$kind" -o "$2" "$1"
