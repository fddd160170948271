#!/bin/sh
# Runs the model checker over the structures in shared memory. It needs a build of its own, since
# the atomics are loom's. Arguments go to the test programs, such as the name of a test.
set -eu
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg loom"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
for package in tern-device tern-shm tern-region tern-rma; do
    cargo test --release --lib --package "$package" -- "$@"
done
