# Intel's MPI test suite of MPI-1, as Argonne kept it and pcvs-benchmarks has it. MPI_LB and MPI_UB, which MPI 3.0 removed, are defined for it.
# Sourced by ../suites.sh.
if needs "${fc:-gfortran}" && source_of cea-hpc/pcvs-benchmarks 5a43e64fd90d72a3684cd003aa0043d0d6584d87 /MPI/Intel_ANL/; then
    if to_build; then
        # From $built, where all is compiled.
        intel=../source/MPI/Intel_ANL
        cp "$root/scripts/suites/bounds.h" "$built"
        c="-w -I$intel/include -include bounds.h -include $intel/Test/c/pcvs_compat.h"
        fortran="-w -I$intel/include -DMPI_LB=MPI_DATATYPE_NULL -DMPI_UB=MPI_DATATYPE_NULL"
        # shellcheck disable=SC2086
        (cd "$built" && logged mpicc $c -c "$intel/lib/libmpitest.c" -o libmpitest.o) || true
        # shellcheck disable=SC2086
        (cd "$built" && logged mpifort $fortran -c "$intel/lib/libmpitestf.F" -o libmpitestf.o) || true
        (cd "$built/$intel/Test" && find c fortran -name 'node.[cF]') | while read -r node; do
            test=${node%/*}
            case $node in
                c/*) program "$test" mpicc "$c" "$intel/Test/$test/*.c" libmpitest.o -lm ;;
                *) program "$test" mpifort "$fortran" "$intel/Test/$test/*.F" libmpitestf.o ;;
            esac
        done | programs
        whole
    fi
    suite intel-anl "$built" "Intel's suite in C, $from, 4 ranks" "standard ABI" 'c/*'
    suite intel-anl "$built" "Intel's suite in Fortran, 4 ranks" "standard ABI" 'fortran/*'
fi
