# OpenCoarrays: its tests built by Tern's mpifort, and Debian's programs, which are built for MPICH and for Open MPI. Sourced by ../suites.sh.
if needs cmake "${fc:-gfortran}" && source_of sourceryinstitute/OpenCoarrays 3d0fa68dc95f05f9c17bd3e7dd0d34e6f530e429; then
    if to_build; then
        logged cmake -S "$source" -B "$built" -DCMAKE_Fortran_COMPILER="$fc" -DCMAKE_C_COMPILER=cc -DMPI_C_COMPILER="$prefix/bin/mpicc" \
            -DMPI_Fortran_COMPILER="$prefix/bin/mpifort" -DMPIEXEC_EXECUTABLE="$prefix/bin/mpiexec" &&
            logged make -C "$built" -j "$jobs" && whole
    fi
    suite opencoarrays "$built"/bin/OpenCoarrays-*-tests "$from" "standard ABI"
fi
for abi in MPICH "Open MPI"; do
    short=$(echo "$abi" | tr -d ' ' | tr '[:upper:]' '[:lower:]')
    if debian_of "libcoarrays-$short-dev"; then
        set -- "$built"/debian/usr/lib/*/open-coarrays/"$short"/bin/OpenCoarrays-*-tests
        suite opencoarrays "$1" "OpenCoarrays, Debian's libcoarrays-$short-dev" "$abi"
    fi
done
