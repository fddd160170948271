#!/bin/sh
# Which way bytes move may change how fast a program is, never what it computes: the C programs that
# send messages run with each mechanism forced, and with promotion always. (choices-test.sh has absurd
# costs.)
# What is forced concerns two processes at a time, so that three ranks are enough: one has two peers then. Only
# TERN_PROMOTE=always has four. Of the numbers of ranks up to these, each program runs with the largest alone. A program that sets one of these settings itself runs with the others only, and not
# twice with the same.
# Usage: tests/mechanisms-test.sh PREFIX
#   TERN_TEST_MECHANISMS=all   every C program at all its numbers of ranks, with all settings, and mpi4py's suite at 2 ranks
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

programs=
sources=$here/c/*.c
if [ "${TERN_TEST_MECHANISMS:-}" != all ]; then
    sources="$here/c/p2p_*.c $here/c/coll_*.c $here/c/rma_*.c $here/c/type_construct.c $here/c/thread_pairs.c
        $here/c/dyn_exchange.c $here/c/dyn_spawn.c $here/c/file_jobs.c $here/c/request_turns.c $here/c/attr_session.c
        $here/c/comm_threads_inter.c $here/c/errhandler_given.c $here/c/group_sets.c"
fi
for source in $sources; do
    name=${source##*/}
    programs="$programs ${name%.c}"
done

# They are compiled once.
export TERN_TEST_DIR="$place/programs"
compiled

# What has run: programs, each with the settings that it does not set itself. All have run with none, by run.sh.
have_run=";"
# choose SETTING...: leaves in `chosen` the programs that have not run so, and in `others` the rest of them.
choose() {
    chosen='' others=''
    for program in $programs; do
        run=$program
        for setting; do
            grep -q "^// mpiexec:.* ${setting%%=*}=" "$here/c/$program.c" || run="$run $setting"
        done
        case $have_run in
        *";$run;"*) others="$others $program" ;;
        *) [ "$run" = "$program" ] && others="$others $program" || chosen="$chosen $program" ;;
        esac
        have_run="$have_run$run;"
    done
}

# by SETTING...: all programs with these settings, but for those that have run so, and mpi4py's suite where everything is wanted.
by() {
    choose "$@"
    [ -z "$others" ] || echo "run with this elsewhere:$others"
    all=$programs programs=$chosen
    with "$@"
    programs=$all
    [ "${TERN_TEST_MECHANISMS:-}" = all ] || return 0
    env "$@" "$here/mpi4py.sh" "$prefix" 2 > "$place/said" 2>&1 || not_content
    grep -E 'FAIL|passed' "$place/said" || true
    add
}

# without NAME: where not everything is wanted, the program runs with no setting that comes later.
without() {
    [ "${TERN_TEST_MECHANISMS:-}" != all ] || return 0
    echo "without $1 from here on"
    programs=$(echo "$programs " | sed "s/ $1 / /")
}

[ "${TERN_TEST_MECHANISMS:-}" = all ] || export TERN_TEST_MOST_RANKS=4 TERN_TEST_ONCE=yes
by TERN_PROMOTE=always
[ "${TERN_TEST_MECHANISMS:-}" = all ] || export TERN_TEST_MOST_RANKS=3
# By the pipe it takes more than a minute of the processor, where it takes a quarter of one otherwise.
without rma_large
for mechanism in pipe cma mapped; do
    by TERN_MECHANISM="$mechanism"
done
# As much by messages, which the settings above have moved in each way.
without p2p_large
by TERN_PROMOTE=always TERN_WATCH=off
by TERN_PROMOTE=always TERN_MECHANISM=mapped

sums
