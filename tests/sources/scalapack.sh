# ScaLAPACK: its library and all of its testers, on 4 ranks. Sourced by ../sources.sh.
# A tester passes if it ends, some of its checks passed, and none failed.

# What a tester says of failed checks, but for headings, explanations and totals of none. PBLAS' testers end with a table: name,
# total, passed, failed, skipped.
wrong() {
    awk '$1 == "|" && NF == 6 && $5 + 0 > 0 { print }
        /PASSED +FAILED/ || /[Pp]assed.*failed/ || / 0 FAILED/ || / 0 tests/ { next }
        /FAILED|failed|different values/ { print }' "$1"
}

# tester FOLDER PROGRAM [CODE]: runs it in that folder, where its input is. CODE is the exit code that is right.
tester() {
    cd "$work/scalapack/build/$1"
    name=${2##*/} code=0
    # What gfortran holds back would be lost in BLACS_ABORT.
    GFORTRAN_UNBUFFERED_ALL=1 timeout --kill-after=5 "${TERN_TEST_TIMEOUT:-300}" mpiexec -n 4 "$2" > "$name.out" 2>&1 < /dev/null || code=$?
    wrong "$name.out" > "$name.wrong"
    if [ "$code" -ne "${3:-0}" ]; then
        fail "$name: exit code $code" "$name.out"
    elif ! grep -q -e PASS -e passed -e 'End of Tests' "$name.out"; then
        fail "$name: no check passed" "$name.out"
    elif [ -s "$name.wrong" ]; then
        fail "$name: $(wc -l < "$name.wrong") lines of failed checks" "$name.wrong"
    else
        ok "$name"
    fi
}

if source_of scalapack; then
    mkdir -p build
    cd build
    # Its two options name the two halves of the testers.
    if built scalapack cmake .. -DCMAKE_C_COMPILER=mpicc -DCMAKE_Fortran_COMPILER=mpifort -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_C_FLAGS="-O1 -w" -DCMAKE_Fortran_FLAGS="-O1 -w" -DSCALAPACK_BUILD_TESTS=ON -DSCALAPACK_BUILD_TESTING=ON &&
        built scalapack make -j "$jobs"; then
        # The last test of the BLACS' testers is BLACS_ABORT.
        tester BLACS/TESTING ../../TESTING/xFbtest 255
        tester BLACS/TESTING ../../TESTING/xCbtest 255
        for folder in PBLAS/TESTING PBLAS/TIMING scalapack/REDIST/TESTING TESTING; do
            for program in "$work/scalapack/build/$folder"/*; do
                case $program in *btest) continue ;; esac
                [ ! -x "$program" ] || [ ! -f "$program" ] || tester "$folder" "./${program##*/}"
            done
        done
    fi
fi
