# mpicheck, of pcvs-benchmarks: its programs are built in the options of its own build files, each beside its source. Sourced by ../suites.sh.
if needs "${fc:-gfortran}" && source_of cea-hpc/pcvs-benchmarks 5a43e64fd90d72a3684cd003aa0043d0d6584d87 /MPI/mpicheck/; then
    if to_build; then
        cp -r "$source/MPI/mpicheck/tests/functions/." "$built"
        options="-Wno-deprecated-declarations -Werror -Wno-error=line-truncation"
        (cd "$built" && find . -name '*.c' -o -name '*.f' -o -name '*.f90' -o -name '*.f08') | while read -r file; do
            case $file in
                *.c) program "$file.out" mpicc "$options" "$file" ;;
                *.f08) program "$file.out" mpifort "$options" "$file" ;;
                *) program "$file.out" mpifort "$options" -ffree-form "$file" ;;
            esac
        done | programs
        whole
    fi
    suite mpicheck "$built" "mpicheck, $from, in C, built only" "standard ABI" '*.c'
    suite mpicheck "$built" "mpicheck for mpif.h in free form, built only" "standard ABI" '*.f'
    suite mpicheck "$built" "mpicheck for the module mpi, built only" "standard ABI" '*.f90'
    suite mpicheck "$built" "mpicheck for mpi_f08, built only" "standard ABI" '*.f08'
fi
