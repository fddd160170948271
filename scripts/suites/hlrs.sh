# mpi-test-suite of HLRS, with its tests of started processes. Sourced by ../suites.sh.
if needs autoreconf gengetopt && source_of open-mpi/mpi-test-suite 8ce7d3d7a8ad17f467eacb7d293547bee88105fe; then
    if to_build; then
        copied
        (cd "$built" && logged ./autogen.sh && logged ./configure CC=mpicc --enable-mpi2-dynamic &&
            logged make cmdline.h && logged make -j "$jobs") || true
        echo mpi_test_suite > "$built/.programs"
        whole
    fi
    suite hlrs "$built" "$from, 2 and 4 ranks" "standard ABI"
fi
