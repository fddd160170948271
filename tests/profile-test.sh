#!/bin/sh
# A tool over PMPI wraps every function of mpi.h: preloaded, and linked, it counts what a program calls.
# Usage: tests/profile-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

awk -f "$here/profile/wrappers.awk" "$prefix/include/mpi.h" > "$place/wrappers.inc"
cp "$here/profile/tool.c" "$place"
"$prefix/bin/mpicc" -Wall -shared -fPIC -o "$place/libtool.so" "$place/tool.c" -lpthread
"$prefix/bin/mpicc" -Wall -o "$place/plain" "$here/profile/program.c"
"$prefix/bin/mpicc" -Wall -o "$place/linked" "$here/profile/program.c" "$place/tool.c" -lpthread

verdict() {
    if [ -z "$2" ]; then
        ok "$1"
    else
        fail "$1" "$2"
        tail -n 30 "$place/said" | sed 's/^/    /'
    fi
}

# expect LABEL: reads lines that must be there.
expect() {
    wrong=
    while read -r line; do
        grep -q -x -e "$line" "$place/said" || wrong="no line is: $line"
    done
    ! grep -q 'MPI_Barrier' "$place/said" || wrong="a call is counted after MPI_Pcontrol(0)"
    verdict "$1" "$wrong"
}

# Every function of the library has a wrapper, but MPI_Pcontrol, which the tool has by hand.
# What the header itself defines comes behind the functions, and calls these.
declared=$(sed '/^\/\* ---- Integers of Fortran/,$d' "$prefix/include/mpi.h" | grep -o -E '\bMPI_[A-Z][A-Za-z_0-9]*\(' | sort -u | wc -l)
wrapped=$(nm -D --defined-only "$place/libtool.so" | grep -c ' T MPI_')
: > "$place/said"
if [ "$declared" -eq "$wrapped" ]; then
    verdict "$wrapped functions are wrapped" ''
else
    verdict 'all functions are wrapped' "$declared are declared, $wrapped wrapped"
fi

for way in preloaded linked; do
    case $way in
    preloaded) "$prefix/bin/mpiexec" -n 2 -env LD_PRELOAD "$place/libtool.so" "$place/plain" ;;
    linked) "$prefix/bin/mpiexec" -n 2 "$place/linked" ;;
    esac < /dev/null > "$place/said" 2>&1 || echo "exit code $?" >> "$place/said"
    expect "$way" << 'LINES'
profile: rank 0: MPI_Send on the copy: 3 calls, 48 bytes
profile: rank 1: MPI_Irecv_c on the copy: 3 calls, 48 bytes
profile: rank 1: MPI_Wait: 3 calls, 0 bytes
profile: rank 0: MPI_Allreduce on MPI_COMM_WORLD: 1 calls, 16 bytes
profile: rank 1: MPI_Allgather on the copy: 1 calls, 8 bytes
profile: rank 0: MPI_Comm_dup on MPI_COMM_WORLD: 1 calls, 0 bytes
profile: rank 0: MPI_Finalize: 1 calls, 0 bytes
LINES
done

sums
