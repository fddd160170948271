#!/bin/sh
# Runs the model checker over the structures in shared memory. It needs a build of its own, since
# the atomics are loom's. Arguments go to the test programs, such as the name of a test [model, which
# leaves out the tests that have run without it].
set -eu
[ $# -gt 0 ] || set -- model
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg loom"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
cargo test --profile loom --no-fail-fast --lib --package tern-device --package tern-shm --package tern-region --package tern-rma --package tern-hca -- "$@"
