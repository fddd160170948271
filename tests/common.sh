# Read by the test scripts: how a test is told, and how many have passed, failed and been left out.
passed=0 failed=0 skipped=0
# What whoever runs the tests has in files of settings is none of theirs.
export TERN_CONF=off
# What a failure shows: the last lines of this file, all of which is kept in $TERN_TEST_KEEP [target/failed]. Empty: nothing.
evidence=
kept_in=${TERN_TEST_KEEP:-$(cd "$(dirname "$0")/.." && pwd)/target/failed}

# A folder, $place, that goes with the script.
make_place() {
    place=$(mktemp -d)
    trap 'rm -rf "$place"' EXIT
    trap 'exit 130' INT TERM
}

# ok, fail, skip WHAT [WHY]
ok() {
    passed=$((passed + 1))
    echo "ok   $1"
}
fail() {
    failed=$((failed + 1))
    echo "FAIL $1${2:+: $2}"
    [ -s "$evidence" ] || return 0
    tail -n 15 "$evidence" | cut -c 1-300 | tr -d '\0' | sed 's/^/    /'
    keep
}
# A failure that does not come back is explained by this file or not at all.
keep() {
    mkdir -p "$kept_in" 2> /dev/null || return 0
    kept=$kept_in/$(basename "$0" .sh).$$.$failed
    tail -c 1000000 "$evidence" > "$kept" 2> /dev/null && echo "    all of it: $kept"
    return 0
}
skip() {
    skipped=$((skipped + 1))
    echo "SKIP $1${2:+: $2}"
}

# The last line of a script, which scripts/test.sh reads, and its exit code: 0 if nothing has failed.
sums() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# Adds the sums of a part, N passed, N failed, N skipped; one failure if there are none. What the part has printed is in $place/said.
add() {
    # shellcheck disable=SC2046
    set -- $(sed -nE 's/^(total: )?([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped.*/\2 \3 \4/p' "$place/said" |
        awk '{ p += $1; f += $2; s += $3 } END { print p + 0, NR ? f + 0 : 1, s + 0 }')
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

# compiled: the C programs $programs are compiled into $TERN_TEST_DIR, for those runs that follow. Ends the script if one does not compile. Wants $here,
# the folder of the scripts, and $prefix.
compiled() {
    # shellcheck disable=SC2086,SC2154
    TERN_TEST_STEP=compile "$here/run.sh" "$prefix" $programs > "$place/said" 2>&1 && return
    cat "$place/said"
    exit 1
}

# with SETTING...: runs the C programs $programs, which are compiled, with these variables; shows what does not pass, and adds the sums.
with() {
    echo "-- $*"
    # Without names run.sh would take all programs.
    [ -n "${programs# }" ] || { echo "no program left"; return 0; }
    # shellcheck disable=SC2086
    env "$@" TERN_TEST_STEP=run "$here/run.sh" "$prefix" $programs > "$place/said" 2>&1 || true
    grep -v '^ok ' "$place/said" | sed '$d'
    add
}

# mpi4py's suite has ended otherwise than it should: that is a failure even where no test has failed, as when a rank has died.
not_content() {
    echo "0 passed, 1 failed, 0 skipped" >> "$place/said"
}

# How a job can move its bytes, other than by default: a line of mpiexec's arguments for each way. TERN_TEST_MECHANISMS=all: all ways.
ways() {
    echo "-x TERN_PROMOTE=always"
    echo "--nodes 2"
    [ "${TERN_TEST_MECHANISMS:-}" = all ] || return 0
    mechanisms="pipe cma mapped"
    # The device of the kernel module.
    [ ! -e /dev/tern ] || mechanisms="$mechanisms module"
    for mechanism in $mechanisms; do
        echo "-x TERN_MECHANISM=$mechanism"
        echo "-x TERN_MECHANISM=$mechanism -x TERN_PROMOTE=always"
    done
    echo "--nodes 2 -x TERN_PROMOTE=always"
    echo "--nodes 2 -x TERN_NETWORK=tcp -x TERN_PROMOTE=always"
}

# first COMMAND...: the first of these commands that there is, if any.
first() {
    for name; do
        ! command -v "$name" > /dev/null 2>&1 || { echo "$name" && return; }
    done
}

# a_gfortran: the GNU Fortran compiler, by whatever name, if there is one.
a_gfortran() { first gfortran gfortran-14 gfortran-13 gfortran-12; }

# a_flang: LLVM's Fortran compiler, by whatever name, if there is one.
a_flang() {
    # shellcheck disable=SC2046,SC2086
    first flang flang-new $(IFS=:; find $PATH -maxdepth 1 -name 'flang-*[0-9]' 2> /dev/null | sed -nE 's|.*/(flang-(new-)?([0-9]+))$|\3 \1|p' | sort -rn | cut -d ' ' -f 2)
}

# is_harmed FILE: what mpiexec has said there tells of a rank that was ended by another signal than SIGKILL, by which tests lose ranks.
is_harmed() { grep -a '^mpiexec: .*was killed by signal' "$1" | grep -qv 'by signal 9 '; }

# within SECONDS COMMAND...: runs a command for so long at most. That it was stopped stands in a line of its own among its errors, for what ignores the
# first signal ends with 137, as a job does whose ranks are lost.
within() { timeout --verbose --kill-after="${patience:-5}" "$@"; }

# has_hung FILE: what `within` has run was stopped. Something may stand before it on its line, and the words between are in the user's language.
has_hung() { grep -aqE 'timeout: .*(TERM|KILL)' "$1"; }

# has_lost_all CODE FILE: a job that goes on has ended with this exit code because nobody is left. Ranks were killed, and no rank has ended it.
has_lost_all() {
    [ "$1" -eq 137 ] && grep -aq '^mpiexec: .*was killed by signal 9 ' "$2" && ! has_hung "$2" && ! is_harmed "$2" &&
        ! grep -aqE '^mpiexec: .*(called MPI_Abort|exited with code|ended with code)' "$2"
}
