#!/bin/sh
# Prints the directory that kernel modules are built with: for a kernel of this name, for the running one, or for any.
# Usage: scripts/kernel-headers.sh [VERSION]     Exit code: 1 when there is none
set -eu

for build in "/lib/modules/${1:-$(uname -r)}/build" ${1:+none} /lib/modules/*/build; do
    [ "$build" != none ] || exit 1
    if [ -e "$build/Makefile" ]; then
        echo "$build"
        exit 0
    fi
done
exit 1
