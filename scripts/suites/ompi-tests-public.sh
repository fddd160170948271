# Open MPI's public tests. Left out are collective-big-count, which takes all of a node's memory, packaging, which looks at Open MPI's own
# libraries, and runtime, which is about Open MPI's own daemons. Sourced by ../suites.sh.
if needs "${fc:-gfortran}" && source_of open-mpi/ompi-tests-public 338c54c12641f495e76a33b204e6b7de5cc7adac; then
    if to_build; then
        copied
        {
            # sessions_ex1 is a part of a program, and has no main.
            (cd "$built" && find comm_split_type partitioned-communication sessions singleton -name '*.c' ! -name '*_ex1.c') | while read -r file; do
                program "${file%.c}" mpicc -w -fopenmp "$file"
            done
            (cd "$built" && ls sessions/*.f90) | while read -r file; do
                program "${file%.f90}" mpifort -w "$file"
            done
            program events/events_example mpicc -w events/events_example.c
            (cd "$built" && find events -name '*.c' ! -name '*_common.c' ! -name '*_example.c') | while read -r file; do
                program "${file%.c}" mpicc -w "$file" events/events_common.c
            done
            for test in alltoallv_ddt sanity; do
                program alltoallv_validation/$test "mpicc -w -c alltoallv_validation/src/typemap.c -o $test.o && mpicxx -w alltoallv_validation/src/$test.cpp $test.o"
            done
            # Its procedures with a name for C are called by their Fortran names, too.
            names=
            for call in check_count_f check_count_f08 check_cancelled_f; do
                names="$names -Wl,--defsym=${call}_=$call"
            done
            program status/status_test "mpicc -w -c status/src/status_c.c -o status_c.o && mpifort -w status/src/status_fortran.F90 status_c.o $names"
        } | programs
        whole
    fi
    suite ompi-tests-public "$built" "$from" "standard ABI"
fi
