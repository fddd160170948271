#!/bin/sh
# What Python programs do beside MPI: processes of multiprocessing, mappings that change their length; on one node and
# between two. With mpi4py as mpi4py.sh builds it, and with the system's, if there is one: that was built for another library.
# Usage: tests/python-test.sh PREFIX
# MPI4PY_DIR, MPI4PY_BUILT, MPI4PY_SDIST: see mpi4py-build.sh
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
built=$("$here/mpi4py-build.sh" "$prefix")

# runs WHOSE PYTHON: each program, two ranks.
runs() {
    for program in processes resize; do
        for nodes in 1 2; do
            label="$program.py, $1 mpi4py, nodes: $nodes"
            code=0
            timeout --kill-after=5 60 "$prefix/bin/mpiexec" --nodes "$nodes" -n 2 "$2" "$here/python/$program.py" \
                < /dev/null > "$place/said" 2>&1 || code=$?
            if [ "$code" -eq 0 ] && [ "$(grep -c '^right [01] 2$' "$place/said")" -eq 2 ]; then
                ok "$label"
            else
                fail "$label" "exit code $code"
                tail -n 15 "$place/said" | cut -c 1-300 | sed 's/^/    /'
            fi
        done
    done
}

runs "own" "$built/venv/bin/python"
if /usr/bin/python3 -c 'import mpi4py' 2> /dev/null; then
    runs "the system's" /usr/bin/python3
else
    skip "the system's mpi4py" "not installed"
fi
sums
