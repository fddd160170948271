#!/bin/sh
# What Python programs do beside MPI: processes of multiprocessing, mappings that change their length; on one node and
# between two. What exceptions tell, and how a job ends of which one rank has left by an exception. With mpi4py as
# mpi4py.sh builds it, and with the system's, if there is one: that was built for another library.
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
    for program in processes resize errors classes; do
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

# ends LABEL CODE PATTERN OPTIONS... PROGRAM: the job ends with that code, and a line matches; `none`: no line tells of an exception.
ends() {
    label=$1 wanted=$2 pattern=$3 code=0
    shift 3
    timeout --kill-after=5 60 "$prefix/bin/mpiexec" "$@" < /dev/null > "$place/said" 2>&1 || code=$?
    said=uncaught
    if [ "$pattern" = none ]; then
        grep -q "uncaught exception of Python" "$place/said" || said=nothing
    else
        grep -q -e "$pattern" "$place/said" || said=nothing
    fi
    case $code,$pattern,$said in
    "$wanted,none,nothing") ok "$label" ;;
    "$wanted,none,uncaught" | *,nothing) fail "$label" "exit code $code, and not the right lines" ;;
    "$wanted",*) ok "$label" ;;
    *) fail "$label" "exit code $code" ;;
    esac
}

python=$built/venv/bin/python
ends "a rank leaves by an exception, and the other waits for it" 1 \
    "uncaught exception of Python (ValueError: the well is dry), and all others wait inside MPI.*python -m mpi4py" \
    -n 2 "$python" "$here/python/leaves.py"
# It lasts longer than a job whose processes all wait.
ends "the same, and a process of another node computes" 1 \
    "uncaught exception of Python (ValueError: the well is dry), and the others have not come .*TERN_LINGER.*python -m mpi4py" \
    --nodes 2 -x TERN_LINGER=8s -n 3 "$python" "$here/python/leaves.py" computes
ends "the same, and the others get errors of a collective, with which they end" 1 "MPI_Barrier: .* rank 0 is in MPI_Finalize" \
    -x TERN_LINGER=0 -n 3 "$python" "$here/python/leaves.py" barrier
ends "the same, started by mpi4py" 1 "MPI_Abort" -n 2 "$python" -m mpi4py "$here/python/leaves.py"
ends "a rank leaves by sys.exit, and the other waits for it" 3 "has called sys.exit(3), and all others wait inside MPI.*python -m mpi4py" \
    -n 2 "$python" "$here/python/leaves.py" exits
ends "the same by exit, with a text" 1 "has called sys.exit(no water), and all others wait inside MPI" -n 2 "$python" "$here/python/leaves.py" exits-with-text
ends "an exception that was caught" 0 none -n 2 "$python" "$here/python/caught.py"
runs "own" "$python"
if /usr/bin/python3 -c 'import mpi4py' 2> /dev/null; then
    runs "the system's" /usr/bin/python3
else
    skip "the system's mpi4py" "not installed"
fi
sums
