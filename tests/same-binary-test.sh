#!/bin/sh
# Programs compiled once, with Tern's mpicc, run on Tern, MPICH and Intel MPI by changing only the
# library path (each with the launcher of its library), and say the same.
# Usage: tests/same-binary-test.sh PREFIX
#   MPI4PY_BUILT     see mpi4py-build.sh
#   TERN_PEERS_DIR   has folders mpich and impi with lib/libmpi_abi.so.1 and bin/mpiexec
#                    [target/peers, filled from PyPI]
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$root/tests/common.sh"
peers=${TERN_PEERS_DIR:-$root/target/peers}
make_place
given=${TERN_PEERS_DIR:-}
# Tern warns of names that look like its settings.
unset TERN_PEERS_DIR

# fetch NAME PACKAGES...: installs a peer where none is.
fetch() {
    name=$1
    shift
    [ ! -e "$peers/$name/lib/libmpi_abi.so.1" ] || return 0
    [ -z "$given" ] || return 1
    echo "installing $* into $peers/$name" >&2
    python3 -m venv "$peers/$name" &&
        "$peers/$name/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
}

# run FOLDER RANKS PROGRAM ARGUMENTS...: what the program says, in any order of the ranks.
run() {
    folder=$1 ranks=$2
    shift 2
    LD_LIBRARY_PATH="$folder/lib" timeout --kill-after=5 120 \
        "$folder/bin/mpiexec" -n "$ranks" "$@" < /dev/null > "$place/said" 2>&1 || echo "exit code $?" >> "$place/said"
    sort "$place/said"
}

# Whatever a program says beside its result must not depend on the library.
cat > "$place/library.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, size, length, major, minor;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(text, &length);
    MPI_Abi_get_version(&major, &minor);
    long long sum = 0, own = rank + 1;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&own, 1, MPI_LONG_LONG, (rank + 1) % size, 7, &own, 0, MPI_BYTE, MPI_PROC_NULL, 7,
                 MPI_COMM_WORLD, &status);
    MPI_Recv(&own, 1, MPI_LONG_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    int count;
    MPI_Get_count(&status, MPI_LONG_LONG, &count);
    printf("rank %d of %d, sum %lld, got %lld from %d tag %d count %d, ABI %d.%d, %s\n", rank, size, sum, own,
           status.MPI_SOURCE, status.MPI_TAG, count, major, minor,
           argc > 1 ? (strstr(text, argv[1]) ? "the library meant" : text) : "any library");
    return MPI_Finalize();
}
C
"$prefix/bin/mpicc" -O1 -o "$place/library" "$place/library.c"
"$prefix/bin/mpicc" -O1 -o "$place/heat" "$root/demo/heat.c" -lm
everywhere="coll_vector abi_profile"
# These provoke errors: not for Intel's library, whose MPI_ERRORS_RETURN is from before the MPI Forum
# corrected its header.
returning="type_lifetime type_elements attr_comm topo_graph"
for name in $everywhere $returning; do
    "$prefix/bin/mpicc" -std=gnu11 -O1 -o "$place/$name" "$root/tests/c/$name.c"
done

# One build of mpi4py too. It is the one that tests/mpi4py.sh uses.
python=$("$root/tests/mpi4py-build.sh" "$prefix")/venv/bin/python

# pi FOLDER: what demo/pi.py says there, but for the library's name.
pi() {
    run "$1" 2 "$python" "$root/demo/pi.py" 100000 | grep -v '^pi: library'
}

# compare LABEL WORD FOLDER PROGRAMS...: all of them on one library; its version says WORD.
compare() {
    label=$1 word=$2 folder=$3
    shift 3
    check "$label, library" "$(run "$prefix" 2 "$place/library" Tern)" "$(run "$folder" 2 "$place/library" "$word")"
    run "$folder" 2 "$place/heat" 64 200 "$place/$label.png" > /dev/null
    check "$label, heat" "$(cksum < "$place/tern.png")" "$(cksum < "$place/$label.png" 2>&1)"
    check "$label, mpi4py" "$expected" "$(pi "$folder")"
    for name; do
        check "$label, $name" "" "$(run "$folder" 2 "$place/$name")"
    done
}

check() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        failed=$((failed + 1))
        printf 'FAIL %s: expected\n%s\nbut it was\n%s\n' "$1" "$2" "$3"
    fi
}

run "$prefix" 2 "$place/heat" 64 200 "$place/tern.png" > /dev/null
expected=$(pi "$prefix")
case $expected in *3.14159265*) ;; *) check "pi by mpi4py" "3.14159265" "$expected" ;; esac
# shellcheck disable=SC2086
compare tern Tern "$prefix" $everywhere $returning
if fetch mpich mpich==5.0.2; then
    # shellcheck disable=SC2086
    compare mpich MPICH "$peers/mpich" $everywhere $returning
else
    skip "mpich" "not in $peers and not to be had from PyPI"
fi
if fetch impi impi-rt==2021.18.1; then
    # shellcheck disable=SC2086
    compare impi Intel "$peers/impi" $everywhere
else
    skip "impi" "not in $peers and not to be had from PyPI"
fi
sums
