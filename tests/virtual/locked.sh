#!/bin/sh
# Runs a command with so many KiB of memory that may be locked. Root is held to that when it gives up the right to more.
# Usage: tests/virtual/locked.sh KIB COMMAND...
ulimit -l "$1" || exit 125
shift
exec setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "$@"
