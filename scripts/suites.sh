#!/bin/sh
# Test suites of other projects on Tern: fetched, built by Tern's mpicc and mpifort, run, and told in a table. All of them take two hours and more.
# Usage: scripts/suites.sh PREFIX [NAME...]            NAME: a recipe, scripts/suites/NAME.sh [all]
#        scripts/suites.sh PREFIX --LIST FOLDER...     runs the programs that somebody has built in FOLDER, by scripts/suites/LIST.list
#   TERN_TEST_MIRROR  a folder of git repositories, OWNER+NAME, in place of https://github.com/OWNER/NAME
#   TERN_TEST_DIR     where suites are fetched, built and run, and where the file table.md is written [target/suites]
#   TERN_TEST_KEEP    set: what was built there before runs as it is
#   TERN_TEST_FC      the Fortran compiler [gfortran, or gfortran-12]
#   TERN_TEST_JOBS    how many programs are built at once [2]
#   TERN_TEST_LIMIT   seconds for each test, instead of the list's
#   TERN_TEST_ONLY    a pattern of test names; others are left out
#   TERN_TEST_LOGS    a folder that keeps what each test printed [none]
#   TERN_TEST_RECIPES the folder of recipes and lists [scripts/suites]
#   TERN_TEST_CHECK   what runs in place of scripts/suites/check.py
# Packages: git cmake gfortran python3; autoconf automake gengetopt for hlrs. What lacks, and what cannot be fetched, is skipped aloud.
# Exit code: 0 when every failure is one that a list explains.
#
# A list has one word and its values on each line:
#   limit SECONDS            for each test
#   mpiexec OPTIONS          for each test
#   said EXPRESSION          the output of a test that passes has a line like this; without it the exit code alone decides
#   never EXPRESSION         the output of a test that passes has no line like this
#   each RANKS               every program of the folder that has no line of its own is a test
#   built ENDING...          every source of the folder with one of these endings is a test, which has passed if its program, SOURCE.out, is there
#   ranks PATTERN RANKS      as many for these of them
#   least PATTERN NUMBER     so many tests at least are not skipped, where a recipe runs those of this very pattern; * for all
#   run PROGRAM RANKS [ARGUMENTS]    where @ is the folder
#   own PATTERN REASON       these programs fail by their own fault, and are run all the same; to hang or to be killed is still unexpected
#   skip PATTERN REASON      these are not run
#   missed PATTERN REASON    check.py's: wrong programs that Tern says nothing about
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [NAME... | --LIST FOLDER...]"}" && pwd)
. "$root/tests/common.sh"
. "$root/scripts/suites/common.sh"
make_place
shift
own=0 home=
mirror=${TERN_TEST_MIRROR:+$(cd "$TERN_TEST_MIRROR" && pwd)}
recipes=$(cd "${TERN_TEST_RECIPES:-$root/scripts/suites}" && pwd)
check=${TERN_TEST_CHECK:-$root/scripts/suites/check.py}
jobs=${TERN_TEST_JOBS:-2}
fc=${TERN_TEST_FC:-$(a_gfortran)}
unset LD_LIBRARY_PATH FC F77 F90 TERN_FC
export MPIFORT_FC="$fc" PATH="$prefix/bin:$PATH"

# value WORD: the values of the last line of the list that begins with WORD.
value() { sed -n "s/^$1 //p" "$list" | tail -n 1; }

# tests_of FOLDER: lines PROGRAM RANKS [ARGUMENTS], those of the list and then the other programs of the folder; or SOURCE built, for what is not run.
tests_of() {
    for ending in $(value built); do
        (cd "$1" && find . -name "*.$ending" | sed 's#^\./##; s#$# built#' | sort)
    done
    sed -n 's/^run //p' "$list" | sed "s#@#$1#g"
    ranks=$(value each)
    [ -n "$ranks" ] || return 0
    sed -n 's/^run \([^ ]*\).*/\1/p' "$list" | sort -u > "$place/named"
    if [ -e "$1/.programs" ]; then
        sort -u "$1/.programs"
    else
        (cd "$1" && find . -type f -perm -u+x ! -name '*.so*' ! -name '*.sh' | sed 's#^\./##' | sort)
    fi | grep -vxFf "$place/named" > "$place/others" || true
    while read -r program; do
        own_ranks=$(reason ranks "$program")
        echo "$program ${own_ranks:-$ranks}"
    done < "$place/others"
}

# enough TITLE PATTERN TESTS: fails where a recipe has run fewer tests of the pattern than the list says.
enough() {
    least=$(sed -n 's/^least //p' "$list" | while read -r pattern number; do [ "$pattern" != "$2" ] || echo "$number"; done)
    if [ -n "$home" ] && [ -z "${TERN_TEST_ONLY:-}" ] && [ "$3" -lt "${least:-1}" ]; then
        evidence=$log
        fail "$1" "only $3 tests have run, of ${least:-1} at least"
    fi
}

# reason WORD PROGRAM: why the list has PROGRAM among those of WORD; nothing if it is not there.
reason() {
    sed -n "s/^$1 //p" "$list" > "$place/patterns"
    while read -r pattern why; do
        # shellcheck disable=SC2254
        case $2 in $pattern) echo "$why" && return 0 ;; esac
    done < "$place/patterns"
}

# Whether the test whose exit code is $1 has passed by what it printed.
content() {
    [ "$1" -eq 0 ] || return 1
    said=$(value said) never=$(value never)
    [ -z "$said" ] || grep -aqE "$said" "$place/said" || return 1
    [ -z "$never" ] || ! grep -aqE "$never" "$place/said"
}

# one SUITE FOLDER PROGRAM RANKS [ARGUMENTS]: runs one test and tells how it went.
one() {
    suite=$1 folder=$2 program=$3 ranks=$4
    shift 4
    what="$suite $program${*:+ $*}, $ranks ranks"
    why=$(reason skip "$program")
    if [ -z "$why" ] && ! [ -x "$folder/$program" ]; then
        # A recipe has tried to build these.
        if grep -qxF "$program" "$folder/.programs" 2> /dev/null; then
            : > "$place/said"
            fail "$what" "it was not built"
            return 0
        fi
        why="it was not built"
    fi
    if [ -n "$why" ]; then
        skip "$what" "$why"
        echo "skip $why" >> "$place/reasons"
        return 0
    fi
    mkdir -p "$place/run"
    code=0
    # shellcheck disable=SC2046
    (cd "$place/run" && timeout --kill-after=5 "${TERN_TEST_LIMIT:-$(value limit)}" \
        "$prefix/bin/mpiexec" $(value mpiexec) -n "$ranks" "$folder/$program" "$@") > "$place/said" 2>&1 < /dev/null || code=$?
    [ -z "${TERN_TEST_LOGS:-}" ] || cp "$place/said" "$TERN_TEST_LOGS/$(echo "$suite $program $ranks $*" | tr ' /' '_.')"
    rm -rf "$place/run"
    why=$(reason own "$program")
    if content "$code"; then
        ok "$what${why:+ (the list says that it fails)}"
    elif [ -n "$why" ] && [ $code -ne 124 ] && [ $code -ne 137 ] && [ $code -ne 134 ] && [ $code -ne 139 ]; then
        own=$((own + 1))
        echo "own  $what: $why"
        echo "own $why" >> "$place/reasons"
    else
        fail "$what" "code $code"
    fi
}

# built SUITE FOLDER SOURCE: tells whether the program of a source was built.
built() {
    why=$(reason own "$3")
    if [ -x "$2/$3.out" ]; then
        ok "$1 $3${why:+ (the list says that it fails)}"
    elif [ -n "$why" ]; then
        own=$((own + 1))
        echo "own  $1 $3: $why"
        echo "own $why" >> "$place/reasons"
    else
        fail "$1 $3" "it was not built"
    fi
}

# suite LIST FOLDER [TITLE BUILT-FOR [PATTERN]]: runs the tests of a list, those of the pattern alone, and has a row for them.
suite() {
    list=$recipes/$1.list
    [ -e "$list" ] || { echo "$0: no suite $1; there are: $(cd "$recipes" && echo *.list)" && exit 2; } >&2
    # What the last lines of a test say goes with its failure.
    evidence=$place/said
    : > "$place/reasons"
    before="$passed $own $failed $skipped"
    if ! [ -d "$2" ]; then
        fail "${3:-$1}" "there is no folder $2"
        row "${3:-$1}" "${4:--}" 0 0 0 0 1
        return 0
    fi
    folder=$(cd "$2" && pwd)
    tests_of "$folder" > "$place/tests"
    while read -r program ranks arguments <&3; do
        # shellcheck disable=SC2254
        case $program in ${5:-*}) ;; *) continue ;; esac
        # shellcheck disable=SC2254
        case $program in ${TERN_TEST_ONLY:-*}) ;; *) continue ;; esac
        if [ "$ranks" = built ]; then
            built "$1" "$folder" "$program"
        else
            # shellcheck disable=SC2086
            one "$1" "$folder" "$program" "$ranks" $arguments
        fi
    done 3< "$place/tests"
    # shellcheck disable=SC2046
    enough "${3:-$1}" "${5:-*}" $(echo "$before $passed $own $failed" | awk '{ print $5 + $6 + $7 - $1 - $2 - $3 }')
    # shellcheck disable=SC2046
    row "${3:-$1}" "${4:--}" $(echo "$before $passed $own $failed $skipped" | awk '{ print $5 - $1, $6 - $2, 0, $8 - $4, $7 - $3 }')
    because "${3:-$1}"
}

# checked LIST TITLE OPTION...: what check.py finds of wrong programs in C, judged by a list; a row for them.
checked() {
    list=$recipes/$1.list title=$2
    shift 2
    # What a suite before has left would be taken for this one's.
    rm -f "$place/sums" "$place/reasons"
    code=0
    python3 "$check" --reasons "$list" --sums "$place/sums" --because "$place/reasons" --jobs "$jobs" "$@" "$prefix" \
        > "$home/found.md" 2>> "$log" || code=$?
    cat "$home/found.md"
    touch "$place/sums" "$place/reasons"
    read -r right at_fault missed left wrong < "$place/sums" || right=0 at_fault=0 missed=0 left=0 wrong=0
    passed=$((passed + right)) own=$((own + at_fault)) skipped=$((skipped + left)) failed=$((failed + wrong))
    before=$failed
    # Its code is 1 if some are wrong.
    evidence=$log
    [ "$code" -eq 0 ] || { [ "$code" -eq 1 ] && [ "$wrong" -gt 0 ]; } || fail "$title" "check.py has ended with code $code"
    enough "$title" '*' $((right + at_fault + missed + wrong))
    row "$title" "standard ABI" "$right" "$at_fault" "$missed" "$left" $((wrong + failed - before))
    because "$title"
}

# fetched_suites NAME...: fetches, builds and runs these suites; without names all of them.
fetched_suites() {
    work=${TERN_TEST_DIR:-$root/target/suites}
    mkdir -p "$work"
    work=$(cd "$work" && pwd)
    # shellcheck disable=SC2046
    [ $# -gt 0 ] || set -- $(cd "$recipes" && for list in *.list; do echo "${list%.list}"; done)
    for suite; do
        [ -e "$recipes/$suite.sh" ] || { echo "$0: no suite $suite; there are: $(cd "$recipes" && echo *.list)" && exit 2; } >&2
        begin "$suite"
        # shellcheck source=/dev/null
        . "$recipes/$suite.sh"
        end
    done
    tables
}

[ -z "${TERN_TEST_LOGS:-}" ] || { mkdir -p "$TERN_TEST_LOGS" && TERN_TEST_LOGS=$(cd "$TERN_TEST_LOGS" && pwd); }
: > "$place/table"
case ${1:-} in
    --?*)
        while [ $# -gt 0 ]; do
            suite "${1#--}" "${2:?"$1 needs a folder"}"
            shift 2
        done
        ;;
    *) fetched_suites "$@" ;;
esac
printf '%-58s %-13s %6s %9s %6s %7s %10s\n' suite 'built for' passed 'own fault' missed skipped unexpected
cat "$place/table"
sums
