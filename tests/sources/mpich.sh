# MPICH's own test suite: what it has in Fortran, and its C tests of errors (`errors`). Sourced by ../sources.sh.
# Tests marked as MPICH's own (strict=false) are left out.
#   TERN_TEST_PARTS   the folders of the suite [f77 f90 f08 errors]

# Some tests write files with time stamps that make automake run again; it need not be installed.
suite_make() { make -k AUTOMAKE=: ACLOCAL=: AUTOCONF=: AUTOHEADER=: "$@"; }

# suite_test FOLDER NAME RANKS WORDS...: one line of a testlist.
suite_test() {
    folder=$1 test=$2 ranks=$3
    shift 3
    arguments= settings= quiet=
    for word in "$@"; do
        case $word in
            strict=false | strict=FALSE) return 0 ;;
            arg=*) arguments="$arguments ${word#arg=}" ;;
            env=*) settings="$settings ${word#env=}" ;;
            resultTest=*) quiet=yes ;;
        esac
    done
    [ -x "$folder/$test" ] || suite_make -C "$folder" "$test" >> "$work/mpich.log" 2>&1 || true
    if ! [ -x "$folder/$test" ]; then
        fail "$folder/$test: does not compile"
        return 0
    fi
    code=0
    # shellcheck disable=SC2086
    (cd "$folder" && env $settings timeout --kill-after=5 60 mpiexec --usize 100 -n "$ranks" "./$test" $arguments) \
        > "$work/mpich.out" 2>&1 < /dev/null || code=$?
    if [ $code -eq 0 ] && { [ -n "$quiet" ] || grep -q 'No Errors' "$work/mpich.out"; }; then
        ok "$folder/$test, $ranks ranks"
    else
        fail "$folder/$test, $ranks ranks: code $code" "$work/mpich.out"
    fi
}

# suite_tests FOLDER: its tests, and those of the folders that its list names.
suite_tests() {
    [ -e "$1/testlist" ] || return 0
    grep -vE '^ *(#|$)' "$1/testlist" > "$1/testlist.plain" || true
    while read -r listed ranks words <&3; do
        case $ranks in
            '' | \#*) [ ! -d "$1/$listed" ] || suite_tests "$1/$listed" ;;
            # shellcheck disable=SC2086
            *) suite_test "$1" "$listed" "$ranks" $words ;;
        esac
    done 3< "$1/testlist.plain"
}

if source_of mpich; then
    cd test/mpi
    if built mpich env MPICC="$prefix/bin/mpicc" MPIF77="$prefix/bin/mpif77" MPIFC="$prefix/bin/mpifort" FC="$fc" F77="$fc" ./configure \
        --with-mpi="$prefix" --disable-cxx --enable-fortran=f77,f90,f08 --enable-strictmpi --disable-dtpools; then
        suite_make -C util >> "$work/mpich.log" 2>&1 || true
        # Its configure takes part f08 for MPICH's own; what the tests of f08 share is built all the same.
        suite_make -C util -B libmtest_f08.la libmtest_f08_la_OBJECTS=mtest_f08.lo >> "$work/mpich.log" 2>&1 || true
        for part in ${TERN_TEST_PARTS:-f77 f90 f08 errors}; do
            suite_make -j "$jobs" -C "$part" >> "$work/mpich.log" 2>&1 || true
            suite_tests "$part"
        done
    fi
fi
