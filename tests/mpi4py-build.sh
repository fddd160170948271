#!/bin/sh
# Builds mpi4py 4.1.2 from its sdist against the standard ABI, once, and prints the folder that
# then holds venv/ (a Python with mpi4py) and mpi4py-4.1.2/ (the unpacked sdist with its tests).
#
# Usage: tests/mpi4py-build.sh PREFIX
#   PREFIX            has bin/mpicc_abi and include/mpi.h
#   MPI4PY_DIR        where to build [target/mpi4py]
#   MPI4PY_BUILT      a folder that an earlier call has printed: taken as it is, whatever the header
#   MPI4PY_WHEEL=1    takes the published wheel, whose modules are for MPICH's and Open MPI's ABI (MPI4PY_MPIABI says which)
#   MPI4PY_SDIST      the sdist, where it is there already [downloaded from PyPI]
#
# The build is kept for as long as PREFIX/include/mpi.h stays the same: one build runs on every
# library with the standard ABI, but not with another header's constants.
set -eu

version=4.1.2
prefix=${1:?"usage: $0 PREFIX"}
if [ -n "${MPI4PY_BUILT:-}" ]; then
    echo "$MPI4PY_BUILT"
    exit
fi
root=$(cd "$(dirname "$0")/.." && pwd)
cache=${MPI4PY_DIR:-$root/target/mpi4py}
header=$(sha256sum < "$prefix/include/mpi.h" | cut -c 1-12)
place=$cache/$header
[ -z "${MPI4PY_WHEEL:-}" ] || place=$cache/wheel

if [ -e "$place/complete" ]; then
    echo "$place"
    exit
fi

mkdir -p "$place"
[ -x "$place/venv/bin/pip" ] || python3 -m venv "$place/venv"
pip="$place/venv/bin/pip --disable-pip-version-check --quiet"

sdist=${MPI4PY_SDIST:-$cache/mpi4py-$version.tar.gz}
if [ ! -e "$sdist" ]; then
    echo "mpi4py: downloading the sdist" >&2
    $pip download --no-deps --no-binary mpi4py -d "$cache" "mpi4py==$version" >&2
fi

if [ -n "${MPI4PY_WHEEL:-}" ]; then
    $pip download --no-deps --only-binary mpi4py -d "$place" "mpi4py==$version" >&2
elif ! ls "$place/mpi4py-$version"-*.whl > /dev/null 2>&1; then
    echo "mpi4py: building against $prefix (a few minutes, once)" >&2
    export LD_LIBRARY_PATH="$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    # One large file of generated C: with -O1 the compiler takes three times as long, and the suite hardly less.
    MPICC=$(cd "$prefix/bin" && pwd)/mpicc_abi CFLAGS="-O0 -g0" \
        $pip wheel --no-deps --no-cache-dir -w "$place" "$sdist" >&2
fi
$pip install --no-deps --force-reinstall "$place/mpi4py-$version"-*.whl >&2
tar -xf "$sdist" -C "$place"
: > "$place/complete"
echo "$place"
