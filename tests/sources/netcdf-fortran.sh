# netCDF-Fortran on parallel HDF5 and netCDF, all three built here: `make check` with its parallel tests. Sourced by
# ../sources.sh.

# Builds HDF5 and netCDF for C, without shared libraries, into $1.
netcdf_for_c() {
    source_of hdf5 &&
        built hdf5 ./configure CC=mpicc CFLAGS="-O1 -w" --prefix="$1" --enable-parallel --disable-shared --without-szlib \
            --enable-build-mode=production && built hdf5 make -j "$jobs" -C src H5_CFLAGS=-std=c99 install &&
        built hdf5 make -j "$jobs" -C hl/src H5_CFLAGS=-std=c99 install &&
        source_of netcdf &&
        built netcdf ./configure CC=mpicc CFLAGS="-O1 -w" --prefix="$1" --disable-shared --disable-dap --disable-byterange \
            --disable-nczarr --disable-libxml2 --disable-utilities --enable-parallel-tests CPPFLAGS="-I$1/include" \
            LDFLAGS="-L$1/lib" LIBS="-lhdf5_hl -lhdf5 -lz -lm -ldl" && built netcdf make -j "$jobs" install
}

if netcdf_for_c "$work/netcdf-prefix" && source_of netcdf-fortran; then
    place=$work/netcdf-prefix
    if built netcdf-fortran ./configure CC=mpicc FC=mpifort F77=mpifort FCFLAGS=-O1 FFLAGS=-O1 --prefix="$place" --disable-shared \
        --enable-parallel-tests CPPFLAGS="-I$place/include" LDFLAGS="-L$place/lib" LIBS="-lnetcdf -lhdf5_hl -lhdf5 -lz -lm -ldl" &&
        built netcdf-fortran make -j "$jobs"; then
        make -k check > "$work/netcdf-fortran.tests" 2>&1 < /dev/null || true
        grep -E '^(PASS|FAIL|SKIP|ERROR):' "$work/netcdf-fortran.tests" > "$work/netcdf-fortran.results" || true
        while read -r how name; do
            case $how in PASS:) ok "$name" ;; SKIP:) skip "$name" ;; *) fail "$name" ;; esac
        done < "$work/netcdf-fortran.results"
    fi
fi
