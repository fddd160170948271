#!/bin/sh
# MPI at the end of a program and of its threads: in exit handlers, in destructors of static and of thread_local objects and of
# keys, in a part that is closed; in children of fork, too, which have no MPI. So the library leaves nothing with a thread, or with the loader, that runs at an end.
# Usage: tests/ends-test.sh PREFIX
#   TERN_FACES     which other interfaces, where their mpi.h can be had [mpich openmpi]
#   TERN_TEST_FC   the Fortran compilers, one for each installed family by default [gfortran, or gfortran-12; flang by any of its names]
#   TERN_TEST_MECHANISMS=all   with each interface by every way that bytes move, not only with Tern's own and by few
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
work=$place
# $place is the folder of the headers further below, which stay.
trap 'rm -rf "$work"' EXIT
evidence=$work/log

# expect WHAT PATTERN COUNT MPIEXEC'S ARGUMENTS...: it ends well, and so many lines match.
expect() {
    what=$1 pattern=$2 count=$3 code=0
    shift 3
    timeout --kill-after=5 60 "$prefix/bin/mpiexec" "$@" < /dev/null > "$work/log" 2>&1 || code=$?
    found=$(grep -c -e "$pattern" "$work/log" || true)
    if [ "$code" = 0 ] && [ "$found" = "$count" ]; then ok "$what"; else fail "$what" "exit code $code, $found of $count lines: $pattern"; fi
}

# programs FACE C++COMPILER CCOMPILER: all of them, linked with that face.
programs() {
    face=$1 cxx=$2 cc=$3
    ends='^rank [01] ends, sum 2, 1$'
    $cc -pthread -rdynamic -DCATCH -o "$work/many" "$here/ends/many-parts.c" -ldl
    $cc -pthread -rdynamic -DCATCH -o "$work/atexit" "$here/ends/atexit.c" -ldl
    $cc -pthread -rdynamic -DCATCH -o "$work/forked" "$here/ends/forked.c" -ldl
    $cxx -pthread -rdynamic -DCATCH -o "$work/object" "$here/ends/static-object.cpp" -ldl
    $cxx -pthread -rdynamic -DCATCH -o "$work/local" "$here/ends/thread-local.cpp" -ldl
    $cc -fPIC -shared -o "$work/part.so" "$here/ends/plugin.c"
    ${CC:-cc} -pthread -o "$work/user" "$here/ends/plugin-user.c" -ldl
    for nodes in 1 2; do
        on="$face, $nodes nodes"
        expect "$on: nothing is left with threads" "$ends" 2 --nodes $nodes -n 2 "$work/many" "$work/file"
        expect "$on: exit handler" "$ends" 2 --nodes $nodes -n 2 "$work/atexit"
        expect "$on: static object" "$ends" 2 --nodes $nodes -n 2 "$work/object"
        expect "$on: thread_local object and key" "$ends" 2 --nodes $nodes -n 2 "$work/local"
        expect "$on: a part that is closed" "$ends" 2 --nodes $nodes -n 2 "$work/user" "$work/part.so"
        expect "$on: children call MPI" "$ends" 2 --nodes $nodes -n 2 "$work/forked"
        expect "$on: children call MPI, a thread is inside" "$ends" 2 --nodes $nodes -n 2 "$work/forked" threads
    done
    expect "$face, one rank: children call MPI" '^rank 0 ends, sum 1, 1$' 1 -n 1 "$work/forked" threads
    expect "$face, TCP: exit handler" "$ends" 2 --nodes 2 -n 2 -x TERN_NETWORK=tcp "$work/atexit"
    expect "$face, TCP: children call MPI" "$ends" 2 --nodes 2 -n 2 -x TERN_NETWORK=tcp "$work/forked"
    expect "$face, TCP: nothing is left with threads" "$ends" 2 --nodes 2 -n 2 -x TERN_NETWORK=tcp "$work/many" "$work/file"
    [ "$face" = Tern ] || [ "${TERN_TEST_MECHANISMS:-}" = all ] || return 0
    # On two nodes alone they have run.
    ways | grep -v -e '^--nodes 2$' > "$work/ways"
    while read -r way; do
        for program in many atexit object local; do
            # shellcheck disable=SC2086
            expect "$face, $way: $program" "$ends" 2 $way -n 2 "$work/$program" "$work/file"
        done
    done < "$work/ways"
}

# fortran WHAT ARGUMENTS...: the program in Fortran, compiled by these arguments, behind the functions that catch destructors.
fortran() {
    on=$1
    shift
    if "$@" -w -rdynamic "$work/catch.o" "$here/ends/exit.F90" -J "$work" -o "$work/exit" -ldl > "$work/log" 2>&1; then
        for nodes in 1 2; do
            expect "$on, $nodes nodes: final procedure in an exit handler" "$ends" 2 --nodes $nodes -n 2 "$work/exit"
        done
    else
        fail "$on: does not compile"
    fi
}

programs Tern "$prefix/bin/mpicxx -O1 -w" "$prefix/bin/mpicc -std=gnu11 -O1 -Wall"
place=$root/target/faces
mkdir -p "$place"
. "$here/faces/header.sh"
for face in ${TERN_FACES:-mpich openmpi}; do
    include=$(header_of $face)
    if [ -z "$include" ]; then
        skip "$face" "no mpi.h of it: $(tail -n 1 "$place/$face.log")"
        continue
    fi
    case $face in mpich) library=libmpi.so.12 ;; *) library=libmpi.so.40 ;; esac
    link="-w -I$include -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -Wl,-rpath,$prefix/lib -L$prefix/lib -Wl,--no-as-needed -l:$library"
    programs "$face" "${CXX:-c++} -O1 $link" "${CC:-cc} -std=gnu11 -O1 $link"
done

# In Fortran; no header of another library is needed.
compilers=${TERN_TEST_FC:-$(a_gfortran) $(a_flang)}
[ -n "${compilers# }" ] || skip "in Fortran" "no Fortran compiler"
"$prefix/bin/mpicc" -pthread -c "$here/ends/catch.c" -o "$work/catch.o"
for fc in $compilers; do
    for interface in F08 MODULE MPIF; do
        fortran "Tern, $interface, $fc" "$prefix/bin/mpifort" -fc="$fc" -D$interface
    done
    case $fc in *gfortran*) also=-fallow-argument-mismatch ;; *) also= ;; esac
    for face in "MPICH libmpichfort.so.12 libmpi.so.12" "OPENMPI libmpi_mpifh.so.40 libmpi.so.40"; do
        # shellcheck disable=SC2086
        set -- $face
        # shellcheck disable=SC2086
        fortran "$1, $fc" "$fc" $also -D"$1" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -Wl,--no-as-needed -l:"$2" -l:"$3"
    done
done

for library in "$prefix"/lib/libmpi_abi.so.1 "$prefix"/lib/libmpi.so.* "$prefix"/lib/libmpifort*.so.* "$prefix"/lib/libmpi_mpifh.so.40 \
    "$prefix"/lib/libtern_region.so.1; do
    if readelf -dW "$library" | grep -q 'FLAGS_1.*NODELETE'; then
        ok "${library##*/} stays when it is closed"
    else
        fail "${library##*/} stays when it is closed"
    fi
done

# Threads and locks of the standard library, and variables of a thread, are none of the library's: they may have destructors. What is
# behind the first #[cfg(test)] of a file does not count.
# Left out are `threads` itself, programs that load no library of MPI, and what only tests use.
crates=$(find "$root/crates" -name Cargo.toml -printf '%h\n' | grep -vE '/(threads|launch|bench|man|damage)$')
found=$(for crate in $crates; do
    find "$crate/src" -name '*.rs' ! -name 'tests.rs' ! -name 'model.rs' ! -name 'standin.rs' ! -path '*/tests/*' ! -path '*/conformance/*' \
        ! -path '*/fortran/src/main.rs' -exec awk '/#\[cfg\(test\)\]/ { nextfile } /thread::(spawn|Builder|scope|current|park)|mpsc::/ { print FILENAME ": " $0 }' {} +
done)
if [ -z "$found" ]; then ok "threads are of crates/base/threads"; else fail "threads are of crates/base/threads" "$found"; fi
sums
