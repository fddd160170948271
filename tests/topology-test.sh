#!/bin/sh
# Machines that TERN_TOPOLOGY shows: where mpiexec places ranks and what --report-bindings draws, kinds of hardware in MPI_Comm_split_type, and
# topologies with reorder, among 16 ranks on whatever machine this is.
# Usage: tests/topology-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
export TERN_TEST_DIR="$place/programs"
programs="comm_hardware topo_places"
compiled
evidence=$place/log

# on SHAPE: what follows is on that machine.
on() {
    shape=$1
    TERN_TOPOLOGY=$place/$(printf %s "$shape" | tr : _)
    export TERN_TOPOLOGY
    [ -d "$TERN_TOPOLOGY" ] || "$prefix/bin/tern-info" --make-topology "$shape" "$TERN_TOPOLOGY"
    echo "-- $shape"
}

# placed RANKS 'OPTIONS' NUMBER PLACE [NUMBER PLACE]...: where these ranks are, by the list of cores and the picture.
placed() {
    ranks=$1 options=$2
    shift 2
    # shellcheck disable=SC2086
    if ! timeout 100 "$prefix/bin/mpiexec" -n "$ranks" $options --report-bindings true > "$evidence" 2>&1 < /dev/null; then
        fail "$ranks ranks${options:+, $options}"
        return
    fi
    wrong=
    while [ $# -gt 0 ]; do
        found=$(sed -n "s/^mpiexec: rank $1 (.*) is bound to cores //p" "$evidence")
        [ "$found" = "$2" ] || wrong="$wrong rank $1: $found, not $2;"
        shift 2
    done
    if [ -z "$wrong" ]; then ok "$ranks ranks${options:+, $options}"; else fail "$ranks ranks${options:+, $options}" "$wrong"; fi
}

# says PROGRAM RANKS 'OPTIONS' LINE...: the program passes, and has printed these lines.
says() {
    program=$1 ranks=$2 options=$3
    shift 3
    wrong=
    # shellcheck disable=SC2086
    timeout 200 "$prefix/bin/mpiexec" -n "$ranks" $options "$TERN_TEST_DIR/$program" > "$evidence" 2>&1 < /dev/null || wrong="exit code $?"
    for line; do
        grep -q -x -e "$line" "$evidence" || wrong="$wrong no line is: $line;"
    done
    if [ -z "$wrong" ]; then ok "$program, $ranks ranks${options:+, $options}"; else fail "$program, $ranks ranks${options:+, $options}" "$wrong"; fi
}

on 2x1x6x8x1
placed 96 "" 0 "0 [B....... - - - - -][- - - - - -]" 95 "95 [- - - - - -][- - - - - .......B]"
placed 48 "" 9 "18-19 [- - ..BB.... - - -][- - - - - -]"
placed 12 "" 5 "40-47 [- - - - - =][- - - - - -]" 6 "48-55 [- - - - - -][= - - - - -]"
placed 12 "--map-by slot:PE=8" 11 "88-95 [- - - - - -][- - - - - =]"
placed 3 "--map-by package:PE=8" 1 "48-55 [- - - - - -][= - - - - -]" 2 "8-15 [- = - - - -][- - - - - -]"
placed 10 "--map-by package:FILL --bind-to core" 9 "9 [- .B...... - - - -][- - - - - -]"
placed 12 "--map-by core:SPREAD" 7 "56 [- - - - - -][- B....... - - - -]"
placed 4 "--map-by ppr:1:l3cache:pe=4" 3 "24-27 [- - - BBBB.... - -][- - - - - -]"
# Ranks of 6 cores each: two of them have cores of two caches, none of two packages.
says comm_hardware 16 "" \
    "guided: mpi_shared_memory=16 hwloc://Package=8 hwloc://NUMANode=8 hwloc://L3Cache=0-1 hwloc://L2Cache=0 hwloc://L1Cache=0 hwloc://Core=0 hwloc://PU=0" \
    "unguided: hwloc://Package=8.*"
says comm_hardware 16 "--map-by l3cache:FILL --bind-to core" \
    "guided: mpi_shared_memory=16 hwloc://Package=16 hwloc://NUMANode=16 hwloc://L3Cache=8 hwloc://L2Cache=1 hwloc://L1Cache=1 hwloc://Core=1 hwloc://PU=1" \
    "unguided: hwloc://L3Cache=8 hwloc://L2Cache=1"
says comm_hardware 16 "--bind-to none" "guided: mpi_shared_memory=16 hwloc://Package=0 .*" "unguided:"
says comm_hardware 16 "--nodes 2 --map-by core" "guided: mpi_shared_memory=8 hwloc://Package=8 .*" "unguided: mpi_shared_memory=8 .*"
says topo_places 16 "--map-by package --bind-to core" "hwloc://Package: 1 of 15 links cross, without reorder 15"
says topo_places 16 "--map-by core" "hwloc://L3Cache: 1 of 15 links cross, without reorder 1"

on 2x2x2x4x2:l2=2
placed 16 "" 3 "6-7,38-39 [../../../.. ../../BB/BB|../../../.. ../../../..][../../../.. ../../../..|../../../.. ../../../..]"
says comm_hardware 16 "--map-by core --rank-by package" "guided: mpi_shared_memory=16 hwloc://Package=16 hwloc://NUMANode=8 hwloc://L3Cache=4 hwloc://L2Cache=2 .*" \
    "unguided: hwloc://NUMANode=8 hwloc://L3Cache=4 hwloc://L2Cache=2 hwloc://L1Cache=1"

on 1x1x1x4x1:no-l3:no-numa
placed 2 "" 1 "2-3 [././B/B]"

on 1x1x2x2x1+1x1x1x4x2:offline=1
placed 7 "--bind-to core" 0 "0 [B ./.][../../../..]" 6 "7,11 [. ./.][../../../BB]"
sums
