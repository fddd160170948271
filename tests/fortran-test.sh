#!/bin/sh
# Fortran over the standard ABI: compiles the programs under tests/fortran by mpifort with each Fortran compiler that
# there is, runs them, and asks mpifort what it must answer.
# Usage: tests/fortran-test.sh PREFIX [NAME...]
#   TERN_TEST_FC   the compilers [gfortran, or gfortran-12; flang by any of its names]
#   TERN_TEST_MECHANISMS=all   every program by every way that bytes move, not only those that say so, by two ways
#
# Comment lines at the top of a program say how: `! ranks: 1 2` (one run each), `! with: FILE.c` (compiled by mpicc), `! ways: all` (run again
# with promotion at the first use, and on two nodes), `! mpiexec: OPTION` (for each run), `! lost: N` (so many ranks are lost on the way).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [NAME...]"}" && pwd)
. "$root/tests/common.sh"
shift
place=$(mktemp -d)
finish() {
    trap - EXIT
    rm -rf "$place"
    sums
    exit
}
trap finish EXIT
trap 'exit 130' INT TERM
cd "$place"
evidence=$place/log
unset FC F77 F90 TERN_FC MPIFORT_FC MPICH_FC OMPI_FC
# Modules go to a cache of this test's own, so that a compiler's first use is what is tested.
prefix_of_test=$place/prefix
mkdir -p "$prefix_of_test/lib" "$place/cache" "$place/locked"
cp -a "$prefix/bin" "$prefix/include" "$prefix/share" "$prefix_of_test/"
cp -a "$prefix"/lib/libmpi* "$prefix_of_test/lib/"
chmod 700 "$place/cache"
export XDG_CACHE_HOME="$place/cache"
mpifort=$prefix_of_test/bin/mpifort

# expect WHAT PATTERN COMMAND...: a line of the output matches.
expect() {
    what=$1 pattern=$2
    shift 2
    "$@" > log 2>&1 || true
    if grep -q -e "$pattern" log; then ok "$what"; else fail "$what: no line matches: $pattern"; fi
}

said() { sed -n "1,10s/^[!C] *$1: *//p" "$source"; }

# program SOURCE: with compiler $fc.
program() {
    source=$1
    name=$(basename "$source")
    with=$(said with)
    objects=
    if [ -n "$with" ]; then
        "$prefix_of_test/bin/mpicc" -c "$root/tests/fortran/$with" -o with.o
        objects=with.o
    fi
    # shellcheck disable=SC2086
    if ! "$mpifort" -fc="$fc" -w "$source" $objects -o program > log 2>&1; then
        fail "$name, $fc: does not compile"
        return
    fi
    again=$(said ways) options=$(said mpiexec) lost=$(said lost)
    for ranks in $(said ranks); do
        run "$name, $fc" "$ranks"
    done
}

# run WHAT RANKS: the program as it is and, where $again or everything is wanted, by each way that bytes move.
run() {
    by "$1, $2 ranks" -n "$2"
    [ -n "$again" ] || [ "${TERN_TEST_MECHANISMS:-}" = all ] || return 0
    ways > ways
    while read -r way; do
        # One rank has no other node to go to.
        case "$2 $way" in "1 --nodes"*) continue ;; esac
        # shellcheck disable=SC2086
        by "$1, $2 ranks, $way" -n "$2" $way
    done < ways
}

# by WHAT -n RANKS ARGUMENT...: the program, with these arguments of mpiexec, finds no errors in any rank.
by() {
    what=$1 code=0
    shift
    # shellcheck disable=SC2086
    timeout --kill-after=5 60 "$prefix_of_test/bin/mpiexec" $options "$@" ./program < /dev/null > log 2>&1 || code=$?
    if [ "$code" -eq 0 ] && [ "$(grep -c 'no errors' log)" -eq $(($2 - ${lost:-0})) ]; then
        ok "$what"
    else
        fail "$what: code $code"
    fi
}

# Programs compiled for another library, over the Fortran procedures of its interface.
old() {
    options= lost=
    "${CC:-cc}" -c "$root/tests/fortran/old/ignored.c" -o ignored.o
    for face in "MPICH libmpichfort.so.12 libmpi.so.12 program" "OPENMPI libmpi_mpifh.so.40 libmpi.so.40 program" \
        "OPENMPI libmpi_usempif08.so.40 libmpi.so.40 openmpi_f08" "MPICH libmpichfort.so.12 libmpi.so.12 constants" \
        "OPENMPI libmpi_mpifh.so.40 libmpi.so.40 constants" "ABI libmpifort_abi.so.1 libmpi_abi.so.1 constants" \
        "MPICH libmpichfort.so.12 libmpi.so.12 constants MODULE" "OPENMPI libmpi_mpifh.so.40 libmpi.so.40 constants MODULE" \
        "ABI libmpifort_abi.so.1 libmpi_abi.so.1 constants MODULE"; do
        # shellcheck disable=SC2086
        set -- $face
        if ! [ -e "$prefix_of_test/lib/$2" ]; then
            skip "$1" "$2 is not installed"
            continue
        fi
        case $fc in *gfortran*) also="-w -fallow-argument-mismatch" ;; *) also=-w ;; esac
        also="$also -D${5:-MPIF}"
        # A module of another library, which the source has, stays in a folder of its own.
        mkdir -p modules
        case "$1 ${5:-}" in
        "ABI MODULE") also="$also $("$mpifort" -fc="$fc" --showme:compile 2> /dev/null)" ;;
        *MODULE) case $fc in *gfortran*) also="$also -J modules" ;; *) also="$also -module-dir modules" ;; esac ;;
        ABI*) also="$also -I$prefix_of_test/include" ;;
        esac
        # shellcheck disable=SC2086
        if ! "$fc" -cpp -D"$1" $also "$root/tests/fortran/old/$4.f90" ignored.o -o program \
            -L"$prefix_of_test/lib" -l:"$2" -l:"$3" -Wl,-rpath,"$prefix_of_test/lib" > log 2>&1; then
            fail "$4 for $1${5:+ with module mpi}, $fc: does not compile"
            continue
        fi
        # What is a constant is so by every way.
        case $4 in constants) again=all ;; *) again= ;; esac
        run "$4 for $1${5:+ with module mpi}, $fc" 2
    done
}

# What mpifort answers, and how it builds modules.
wrapper() {
    rm -rf cache/tern
    expect "$fc: --help" "^ *mpifort \[options" "$mpifort" -fc="$fc" --help
    if [ ! -e cache/tern ]; then ok "$fc: and builds nothing"; else fail "$fc: --help builds modules"; fi
    expect "$fc: modules are built once, which is said at the end" "^mpifort: built MPI's modules for .*/cache/tern/fortran/" \
        "$mpifort" -fc="$fc" --showme:compile
    case $(sed -n 1p log) in
    "mpifort: building MPI's modules for $fc in $place/cache/tern/fortran, once; "*" 10 s") ok "$fc: and at the beginning" ;;
    *) fail "$fc: modules are built without a word before" ;;
    esac
    "$mpifort" -fc="$fc" --showme:compile > log 2>&1
    if [ "$(wc -l < log)" -eq 1 ]; then ok "$fc: and not again"; else fail "$fc: modules are built again"; fi
    expect "$fc: -show" "^$fc .*-lmpifort_abi -lmpi_abi$" "$mpifort" -show -fc="$fc" hello.f90
    expect "$fc: --showme:libs" "^mpifort_abi mpi_abi$" "$mpifort" -fc="$fc" --showme:libs
    for variable in TERN_FC MPIFORT_FC MPICH_FC OMPI_FC FC; do
        expect "$variable=$fc" "^$fc\$" env "$variable=$fc" "$mpifort" --showme:command
    done
    # The modules keep to the language that the compiler is told to insist on.
    for module in mpi mpi_f08; do
        printf 'program strict\n  use %s\n  implicit none\n  integer :: ierror\n  call MPI_Init(ierror)\n  call MPI_Finalize(ierror)\nend program\n' $module > strict.f90
        if "$mpifort" -fc="$fc" -std=f2018 -pedantic strict.f90 -o strict > log 2>&1; then
            ok "$fc: use $module with -std=f2018"
        else
            fail "$fc: use $module with -std=f2018"
        fi
    done
    # Modules of another compiler.
    mkdir -p other
    printf 'program uses\n  use theirs\nend program uses\n' > uses.f90
    { printf "GFORTRAN module version '99' created from theirs.f90\n" | gzip; } > other/theirs.mod
    expect "$fc: a module of another compiler is named" "other/theirs.mod was made by another compiler" \
        "$mpifort" -fc="$fc" -c -Iother uses.f90
    rm -r other
    # A folder of the cache that others can write to is not believed.
    mv cache cache.good
    mkdir -p -m 777 cache/tern
    chmod 777 cache/tern
    expect "$fc: a cache that others can write to" "Set XDG_CACHE_HOME" "$mpifort" -fc="$fc" --showme:compile
    rm -r cache
    mv cache.good cache
}

compilers=${TERN_TEST_FC:-$(a_gfortran) $(a_flang)}
if [ -z "${compilers# }" ]; then
    skip "no Fortran compiler" "Debian has gfortran"
    exit 0
fi
printf '#!/bin/sh\n[ "$1" = --version ] && echo "Some Fortran 1.0"\nexit 1\n' > some-fortran
chmod 755 some-fortran
for fc in $compilers; do
    [ $# -gt 0 ] || wrapper
    case " $* " in "  " | *" old "*) old ;; esac
    for source in "$root"/tests/fortran/*.f90 "$root"/tests/fortran/*.f; do
        name=$(basename "$source")
        case " $* " in "  " | *" ${name%.*} "*) program "$source" ;; esac
    done
done
# names WHAT WANTED NAME...: of compilers with these names alone, mpifort takes the one that is wanted.
names() {
    what=$1 wanted=$2
    shift 2
    rm -rf names
    mkdir names
    for name in sh readlink dirname sed; do ln -s "$(command -v $name)" names/; done
    for name; do ln -s "$place/some-fortran" "names/$name"; done
    expect "$what" "^$wanted\$" env PATH="$place/names" "$mpifort" --showme:command
}
if [ $# -eq 0 ]; then
    names "gfortran is taken first" gfortran gfortran gfortran-15 flang
    names "then the newest of those with a number" gfortran-21 gfortran-9 gfortran-21 gfortran-15 flang
    names "then flang" flang flang flang-new flang-30
    names "then the newest flang" flang-new-23 flang-9 flang-new-23 flang-20 flang-21-other
    names "flang rather than its older name" flang-23 flang-new-23 flang-23
    names "gfortran where there is none" gfortran
    expect "a compiler that lacks what is needed" "needs Fortran 2018" "$mpifort" -fc="$place/some-fortran" -c uses.f90
    expect "a compiler that is not there" "no-such-fortran is not there" "$mpifort" -fc=no-such-fortran -c uses.f90
    expect "and who has named it" "no-such-fortran, which the variable FC names, is not there" env FC=no-such-fortran "$mpifort" -c uses.f90
    expect "INTEGER of 8 bytes by an option" "INTEGER and LOGICAL have 4 bytes" "$mpifort" -fdefault-integer-8 -c uses.f90
    expect "a wrapper as compiler" "not a wrapper" "$mpifort" -fc=mpif90 -c uses.f90
fi
