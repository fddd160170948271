#!/bin/sh
# Compiles and runs real MPI programs on an installed Tern and shows what they compute.
#
# Usage: demo/run.sh [PREFIX] [RANKS]     [target/prefix, 4]
#   DEMO_DIR     where programs and the picture go [target/demo]
#   MPI4PY_DIR, MPI4PY_BUILT, MPI4PY_SDIST   see tests/mpi4py-build.sh
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:-$root/target/prefix}" && pwd)
ranks=${2:-4}
place=${DEMO_DIR:-$root/target/demo}
mkdir -p "$place"
export LD_LIBRARY_PATH="$prefix/lib"

step() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}

echo "== Hello from every rank =="
step "$prefix/bin/mpicc_abi" -O2 -o "$place/hello" "$root/demo/hello.c"
step "$prefix/bin/mpiexec" -n "$ranks" "$place/hello"

echo
echo "== Heat in a plate: halo exchange, overlapped with computing =="
step "$prefix/bin/mpicc_abi" -O2 -o "$place/heat" "$root/demo/heat.c" -lm
step "$prefix/bin/mpiexec" -n "$ranks" "$place/heat" 256 2000 "$place/heat.png"
echo "-- the same on one rank must give the same picture"
step "$prefix/bin/mpiexec" -n 1 "$place/heat" 256 2000 "$place/heat-one-rank.png"
cmp "$place/heat.png" "$place/heat-one-rank.png"
echo "-- it does"

echo
echo "== All shortest paths: a row broadcast in each step =="
step "$prefix/bin/mpicc_abi" -O3 -o "$place/asp" "$root/demo/asp.c"
step "$prefix/bin/mpiexec" -n "$ranks" "$place/asp" 512 check

echo
echo "== Python: pi by mpi4py =="
python=$("$root/tests/mpi4py-build.sh" "$prefix")/venv/bin/python
step "$prefix/bin/mpiexec" -n "$ranks" "$python" "$root/demo/pi.py"
