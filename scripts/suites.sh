#!/bin/sh
# Test suites of other projects on Tern. Each is built beforehand, with PREFIX's mpicc and mpifort or for another library's ABI.
# Usage: scripts/suites.sh PREFIX --SUITE FOLDER...     for example: scripts/suites.sh target/prefix --hlrs ~/mpi-test-suite
#   SUITE: a file of scripts/suites without .list, which names the suite's tests; FOLDER: where its built programs are
#   TERN_TEST_LIMIT   seconds for each test, instead of the list's
#   TERN_TEST_ONLY    a pattern of test names; others are left out
#   TERN_TEST_LOGS    a folder that keeps what each test printed [none]
# Exit code: 0 when every failure is one that the list explains.
#
# A list has one word and its values on each line:
#   limit SECONDS            for each test
#   mpiexec OPTIONS          for each test
#   said EXPRESSION          the output of a test that passes has a line like this; without it the exit code alone decides
#   never EXPRESSION         the output of a test that passes has no line like this
#   each RANKS               every program of the folder that has no line of its own is a test
#   built ENDING...          every source of the folder with one of these endings is a test, which has passed if its program, SOURCE.out, is there
#   ranks PATTERN RANKS      as many for these of them
#   run PROGRAM RANKS [ARGUMENTS]    where @ is the folder
#   own PATTERN REASON       these programs fail by their own fault, and are run all the same; to hang or to be killed is still unexpected
#   skip PATTERN REASON      these are not run
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX --SUITE FOLDER..."}" && pwd)
. "$root/tests/common.sh"
make_place
shift
own=0
unset LD_LIBRARY_PATH

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
    (cd "$1" && find . -type f -perm -u+x ! -name '*.so*' ! -name '*.sh' | sed 's#^\./##' | sort) |
        grep -vxFf "$place/named" > "$place/others" || true
    while read -r program; do
        own_ranks=$(reason ranks "$program")
        echo "$program ${own_ranks:-$ranks}"
    done < "$place/others"
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
    [ -x "$folder/$program" ] || why=${why:-"it was not built"}
    if [ -n "$why" ]; then
        skip "$what" "$why"
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
    else
        fail "$1 $3" "it was not built"
    fi
}

# suite NAME FOLDER
suite() {
    list=$root/scripts/suites/$1.list
    [ -e "$list" ] || { echo "$0: no suite $1; there are: $(cd "$root/scripts/suites" && echo *.list)" && exit 2; } >&2
    folder=$(cd "$2" && pwd)
    before="$passed $own $failed $skipped"
    tests_of "$folder" > "$place/tests"
    while read -r program ranks arguments <&3; do
        # shellcheck disable=SC2254
        case $program in ${TERN_TEST_ONLY:-*}) ;; *) continue ;; esac
        if [ "$ranks" = built ]; then
            built "$1" "$folder" "$program"
        else
            # shellcheck disable=SC2086
            one "$1" "$folder" "$program" "$ranks" $arguments
        fi
    done 3< "$place/tests"
    echo "$1 $before $passed $own $failed $skipped" |
        awk '{ printf "%-28s %6d %9d %10d %7d\n", $1, $6 - $2, $7 - $3, $8 - $4, $9 - $5 }' >> "$place/table"
}

# What the last lines of a test say goes with its failure.
evidence=$place/said
[ -z "${TERN_TEST_LOGS:-}" ] || { mkdir -p "$TERN_TEST_LOGS" && TERN_TEST_LOGS=$(cd "$TERN_TEST_LOGS" && pwd); }
while [ $# -gt 0 ]; do
    case $1 in
        --?*) suite "${1#--}" "${2:?"$1 needs a folder"}" ;;
        *) echo "$0: $1: not --SUITE FOLDER" >&2 && exit 2 ;;
    esac
    shift 2
done
printf '%-28s %6s %9s %10s %7s\n' suite passed 'own fault' unexpected skipped
cat "$place/table"
sums
