#!/bin/sh
# Programs in Fortran built from source by mpifort and mpicc, with the tests that they bring. Takes an hour and more.
# Usage: tests/sources.sh PREFIX [NAME...]     NAME: a file of tests/sources, without .sh
#   TERN_TEST_SOURCES   folder of unpacked sources, each named as its Debian source package; what lacks there is got by
#                       `apt-get source`, which needs a `deb-src` line in the system's list of sources
#   TERN_TEST_DIR       where programs are built and run [target/sources]
#   TERN_TEST_FC        the Fortran compiler [gfortran, or gfortran-12]
#   TERN_TEST_JOBS      make's number of jobs [2]
# Packages: dpkg-dev cmake gfortran liblapack-dev m4 zlib1g-dev
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [NAME...]"}" && pwd)
. "$root/tests/common.sh"
shift
work=${TERN_TEST_DIR:-$root/target/sources}
mkdir -p "$work"
work=$(cd "$work" && pwd)
jobs=${TERN_TEST_JOBS:-2}
fc=${TERN_TEST_FC:-$(a_gfortran)}
unset LD_LIBRARY_PATH FC F77 F90 TERN_FC
export MPIFORT_FC="$fc" PATH="$prefix/bin:$PATH" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# fail WHAT [LOG [LINES]]: with the last lines of the log.
fail() {
    failed=$((failed + 1))
    echo "FAIL $1"
    [ -z "${2:-}" ] || tail -n "${3:-8}" "$2" | cut -c 1-200 | sed 's/^/    /'
}

# source_of PACKAGE: a fresh copy of its sources in $work/PACKAGE, which becomes the current folder. Fails if there are none.
source_of() {
    from=${TERN_TEST_SOURCES:-$work/sources}/$1
    if ! [ -d "$from" ]; then
        mkdir -p "$work/sources/download"
        if ! (cd "$work/sources/download" && apt-get source -q "$1") > "$work/$1.log" 2>&1; then
            skip "$1: no sources: $(tail -n 1 "$work/$1.log")"
            return 1
        fi
        from=$work/sources/$1
        mv "$work/sources/download/$1"-*/ "$from"
    fi
    rm -rf "${work:?}/$1"
    mkdir "$work/$1"
    cp -a "$from/." "$work/$1"
    cd "$work/$1"
}

# built PACKAGE COMMAND...: runs it, and tells if it fails.
built() {
    what=$1
    shift
    if ! "$@" >> "$work/$what.log" 2>&1 < /dev/null; then
        fail "$what: $*" "$work/$what.log"
        return 1
    fi
}

if [ -z "$fc" ]; then
    skip "no Fortran compiler (Debian: gfortran)"
else
    if [ $# -eq 0 ]; then
        for file in "$root"/tests/sources/*.sh; do
            name=${file##*/}
            set -- "$@" "${name%.sh}"
        done
    fi
    for suite; do
        before="$passed $failed $skipped"
        echo "-- $suite"
        : > "$work/$suite.log"
        # shellcheck source=/dev/null
        . "$root/tests/sources/$suite.sh"
        echo "$suite $before $passed $failed $skipped" |
            awk '{ printf "-- %s: %d passed, %d failed, %d skipped\n", $1, $5 - $2, $6 - $3, $7 - $4 }'
    done
fi
sums
