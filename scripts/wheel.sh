#!/bin/sh
# Builds Tern and packs it into a wheel for Python, in dist/.
# Usage: scripts/wheel.sh [OUT]
#   TRIPLE  as rustc calls it, where it is for another machine than this (make wheel ARCH=... sets it)
#   With cargo-zigbuild (pip install cargo-zigbuild ziglang) it runs with glibc 2.28 and later; without, with the C
#   library of this machine and later. The wheel's tag says which.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/dist}
stage=$root/target/wheel
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-$root/target}

cd "$root"
if "$cargo" zigbuild --help > /dev/null 2>&1; then
    triple=${TRIPLE:-$(rustc -vV | sed -n 's/^host: //p')}
    "$cargo" zigbuild --release --workspace --target "$triple.2.28"
    built=$target/$triple/release
else
    echo "wheel: cargo-zigbuild is not there, so the wheel is for systems as new as this one"
    "$cargo" build --release --workspace ${TRIPLE:+--target "$TRIPLE"}
    built=$target/${TRIPLE:+$TRIPLE/}release
fi
rm -rf "$stage"
scripts/install.sh "$built" "$stage"
# It compares libraries, for those who develop Tern.
rm -f "$stage/bin/tern-bench" "$stage/share/man/man1/tern-bench.1"
scripts/wheel.py "$stage" "$out"
