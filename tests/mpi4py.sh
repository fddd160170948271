#!/bin/sh
# Runs mpi4py's test suite on an installed MPI library with the standard ABI and reports passed,
# failed and skipped tests for each module. Every rank runs every test; the worst rank counts.
#
# Usage: tests/mpi4py.sh PREFIX RANKS...     for example: tests/mpi4py.sh target/prefix 1 2 4
#   TERN_TEST_NODES     into how many simulated nodes the ranks are divided [1]
#   TERN_TEST_LAUNCHER  another launcher's command in place of mpiexec; the number of ranks comes behind it
#   MPI4PY_TIMEOUT      seconds for one run of the suite [1200]
#   MPI4PY_ARGUMENTS    more arguments for the suite, such as "-i test_comm"
#   MPI4PY_DIR, MPI4PY_BUILT, MPI4PY_SDIST   see mpi4py-build.sh
# Exit code: 0 when no test failed and every rank came to its end.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { echo "usage: $0 PREFIX RANKS..." >&2; exit 2; }
prefix=$(cd "$1" && pwd)
shift

place=$("$here/mpi4py-build.sh" "$prefix")
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
export LD_LIBRARY_PATH="$prefix/lib"
export PYTHONUNBUFFERED=1

# Of each rank a log of its own; the shell's process number tells them apart.
suite='log=$1; shift; exec "$@" > "$log/$$" 2>&1'
status=0
for ranks in "$@"; do
    mkdir "$logs/$ranks"
    start=$(date +%s.%N)
    code=0
    set -- "$prefix/bin/mpiexec" --nodes "${TERN_TEST_NODES:-1}" -n
    # Splitting the arguments at blanks is meant.
    # shellcheck disable=SC2086
    [ -z "${TERN_TEST_LAUNCHER:-}" ] || set -- $TERN_TEST_LAUNCHER
    # shellcheck disable=SC2086
    (set -f && cd "$place/mpi4py-4.1.2" &&
        exec timeout --kill-after=10 "${MPI4PY_TIMEOUT:-1200}" \
            "$@" "$ranks" sh -c "$suite" sh "$logs/$ranks" \
            "$place/venv/bin/python" test/main.py -v ${MPI4PY_ARGUMENTS:-} \
            < /dev/null > "$logs/$ranks.launcher" 2>&1) || code=$?
    seconds=$(echo "$start $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    "$place/venv/bin/python" "$here/mpi4py-report.py" "$logs/$ranks" "$ranks" "$seconds" "$code" ||
        status=1
    if [ "$code" -ne 0 ]; then
        echo "mpiexec said, in its last lines:"
        tail -n 20 "$logs/$ranks.launcher" | cut -c 1-300
    fi
done
exit $status
