#!/bin/sh
# Builds the library that runs in virtual time, and installs it beside the ordinary one: PREFIX/lib/tern-model/libmpi_abi.so.1, which `tern-bench model` starts.
# Usage: scripts/model.sh TARGET PREFIX
#   TARGET   cargo's target folder; what is built for the model has the folder `model` there
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
target=${1:?"usage: $0 TARGET PREFIX"}
to=${2:?"usage: $0 TARGET PREFIX"}/lib/tern-model
cd "$root"
# Flags of the user's own are for the ordinary library.
RUSTFLAGS="--cfg tern_model" CARGO_TARGET_DIR="$target/model" "${CARGO:-cargo}" build --profile quick --package tern-abi --lib
mkdir -p "$to"
install -m 755 "$target/model/quick/libmpi_abi.so" "$to/libmpi_abi.so.1.new"
mv -f "$to/libmpi_abi.so.1.new" "$to/libmpi_abi.so.1"
