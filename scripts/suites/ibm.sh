# IBM's MPI test case suite of 1995, in C: ibm-mpi-tests of mpoquet. Sourced by ../suites.sh.
if source_of mpoquet/ibm-mpi-tests 6118fd1f16d948cc80c524388c74b6418aa08e83; then
    if to_build; then
        (cd "$source" && ls ./*/*.c) | while read -r file; do
            file=${file#./}
            program "${file%.c}" mpicc -w -std=gnu89 "../source/$file"
        done | programs
        whole
    fi
    suite ibm "$built" "IBM's suite, $from, 4 ranks" "standard ABI"
fi
