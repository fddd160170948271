# PETSc: its library with Fortran, and those of its tests that are in Fortran, each on the ranks that it names. Sourced by
# ../sources.sh.

# The tests in Fortran, as patterns for its gmakefile.test: FOLDER_FOLDER-PROGRAM_% for src/FOLDER/FOLDER/PROGRAM.F90.
fortran_tests() {
    find src -name '*.F90' -path '*/t*/*' -exec grep -l '!.*TEST\*/' {} + |
        sed -nE 's#^src/(.*)/([^/]*)\.F90$#\1-\2#p' | sed 's#/#_#g; s#$#_%#' | tr '\n' ' '
}

# Debian's sources leave out the run path, so that the library is named by a variable. Lines of C and of Fortran keep their
# order only if gfortran holds none back.
petsc_make() {
    LD_LIBRARY_PATH=$PETSC_DIR/$PETSC_ARCH/lib GFORTRAN_UNBUFFERED_ALL=1 make "$@"
}

if source_of petsc; then
    export PETSC_DIR="$PWD" PETSC_ARCH=arch-tern
    if built petsc ./configure --with-x=0 --with-debugging=0 --with-fc=mpifort --with-cc=mpicc --with-cxx=0 \
        --with-mpiexec="$prefix/bin/mpiexec" --with-make-np="$jobs" COPTFLAGS=-O1 FOPTFLAGS=-O1 &&
        built petsc make all && built petsc petsc_make check; then
        ok "PETSc's make check"
        petsc_make -f gmakefile.test test TIMEOUT=120 gmakesearch="$(fortran_tests)" > "$work/petsc.tests" 2>&1 < /dev/null || true
        passed=$((passed + $(grep -c '^ *ok diff-[^#]*$' "$work/petsc.tests")))
        skipped=$((skipped + $(grep '^ *ok .*# SKIP' "$work/petsc.tests" | grep -vc ' diff-')))
        grep '^not ok' "$work/petsc.tests" > "$work/petsc.failed" || true
        while read -r line; do fail "$line"; done < "$work/petsc.failed"
        echo "what PETSc said of each test: $work/petsc.tests"
    fi
    unset PETSC_DIR PETSC_ARCH
fi
