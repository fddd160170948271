#!/bin/sh
# The architecture that a program or library is for, as `uname -m` says it there.
# Usage: scripts/machine.sh FILE
set -eu

# The field e_machine of its header.
number=$(od -An -tu2 -j18 -N2 "${1:?"usage: $0 FILE"}" | tr -d ' ')
case $number in
    62) echo x86_64 ;;
    183) echo aarch64 ;;
    243) echo riscv64 ;;
    *) echo "$0: $1 is for machine $number, which is not known here" >&2; exit 1 ;;
esac
