#!/bin/sh
# Runs the model checker over the structures in shared memory. It needs a build of its own, since
# the atomics are loom's. Arguments go to the test programs, such as the name of a test [model, which
# leaves out the tests that have run without it]; with --no-run it compiles only.
set -eu
only=
[ "${1:-}" != --no-run ] || { only=$1 && shift; }
[ $# -gt 0 ] || set -- model
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg loom"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
cargo test --profile loom ${only:+"$only"} --no-fail-fast --lib --package tern-device --package tern-shm --package tern-region --package tern-rma --package tern-hca -- "$@"
