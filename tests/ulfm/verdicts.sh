# Sourced by tests/ulfm-suite.sh: when a program of the suite has passed. Where it says so itself in its first comment, that is taken; else what its text
# promises of the survivors. Needs $evidence, what the program has said, and $code, its exit code.

# said PATTERN: how many lines match.
said() { grep -c -e "$1" "$evidence" || true; }

# verdict_of PROGRAM RANKS: how it is run. Sets $ft, the options for failures; $arguments; $limit, in seconds; $endless, for a program that never
# ends, a line of it, and $times, how many of these it has to say; $unfit, why it cannot be run, if so.
verdict_of() {
    ft="--with-ft mpi" arguments= limit=120 endless= times=8 unfit=
    case $1 in
    api/init_errh_info) ft="--initial-errhandler mpi_errors_return" ;;
    # Kills and replaces ranks until it is stopped.
    api/revshrinkkillrecover) endless="Finished Spawn" ;;
    stress/connect_accept) unfit="each of its children starts children, without end, where slots are no limit" ;;
    stress/kill_node | benchmarks/daemon_benchdetect_barrier) unfit="kills its agent, which is mpiexec here: see the runs on hosts" ;;
    stress/sleeptest) arguments="1 4" ;;
    tutorial/jacobi)
        arguments="-p 2 -q $(($2 / 2)) -NB 32"
        # Its processes at an edge compute with memory that they have not written; the allocator fills it with zeros.
        ft="$ft -x MALLOC_PERTURB_=255"
        [ $(($2 % 2)) -eq 0 ] || unfit="needs an even number of ranks"
        ;;
    stress/pingpairs) [ $(($2 % 2)) -eq 0 ] || unfit="needs an even number of ranks" ;;
    # The master sends no end to workers, which wait for ever; or it writes that at index -999 of an array, and may crash.
    tutorial/bag-*) unfit="writes outside its arrays when the tasks run out" ;;
    # 1001 times all lengths.
    benchmarks/benchrevoke) endless="REVOKE" ;;
    benchmarks/benchagree | benchmarks/benchshrink | benchmarks/benchishrink) arguments="-f $(($2 - 1)) -f 1" ;;
    benchmarks/benchdetect_recvany) arguments="-f $(($2 - 1)) -m 0" ;;
    esac
    case $1 in
    api/init_errh_info | stress/* | tutorial/00.noft) ;;
    *) [ "$2" -ge 4 ] || unfit="needs 4 ranks" ;;
    esac
}

# is COUNT PATTERN: so many lines; adds to $wants.
is() {
    wants="$wants $1 lines of '$2' (there are $(said "$2"));"
    [ "$(said "$2")" -eq "$1" ]
}
# least COUNT PATTERN: so many lines or more.
least() {
    wants="$wants $1 lines of '$2' or more (there are $(said "$2"));"
    [ "$(said "$2")" -ge "$1" ]
}
some() { least 1 "$1"; }
ends() {
    wants="$wants exit code 0;"
    [ "$code" -eq 0 ]
}

# passes PROGRAM RANKS: what $wants says.
passes() {
    local n=$2
    wants=
    case $1 in
    api/init_errh_info) ends && is "$n" "mpi_errors_return" ;;
    api/bindings) ends && is 0 "NOT COMPLIANT" && is "$n" "ULFM CAN tolerate failures" ;;
    api/err_returns | api/err_handler | api/err_any | api/revoke) ends && is 1 "TEST PASSED" ;;
    api/err_returnsf) ends && is $((n - 1)) "process of the operation" ;;
    api/err_insulation) ends && is 0 "TEST FAILED" && is $(((n + 1) / 2 - 1)) "Notified of error" ;;
    # Once by all but the first lost, once by all but both.
    api/getack) ends && is 0 "TEST FAILED" && is $((2 * n - 3)) "TEST PASSED" ;;
    api/revshrink) ends && is 100 "COMPLIANT @ repeat" ;;
    api/revshrinkkill) ends && is 1 "Finalizing" && is $((n - 1)) "Killing Self" ;;
    api/shrink) ends && is 1 "^COMPLIANT$" ;;
    api/buddycr | tutorial/12.buddycr) ends && some "starting bcast 5" ;;
    api/revshrinkkillrecover | benchmarks/benchrevoke) least "$times" "$endless" ;;
    stress/isend-err) ends && is 1 "TEST PASSED" ;;
    stress/pingpairs) ends && is 1 "SUCCESS" ;;
    stress/sleeptest) ends && is 1 "COMPLIANT" ;;
    # Before the loss, and after the repair.
    stress/spawn) ends && is 1 "completed MPI_COMM_SPAWN with fault=none" && is 1 "completed MPI_COMM_SPAWN with fault=fixed" && is 2 "with args 'fault=fixed'" ;;
    # The error handler is that which ends the job.
    tutorial/00.noft)
        wants=" another exit code than 0 and 124;"
        [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && is 0 "^Rank"
        ;;
    tutorial/01.err_returns) ends && is $((n - 1)) "PROC_FAILED.*Stayin' alive" ;;
    # Each of two barriers tells each survivor. That before the deaths may fail at some, to whom a message of it is lost.
    tutorial/02.err_handler) ends && least $((2 * (n - 2))) "Notified of error" ;;
    tutorial/03.undisturbed) ends && is $((n - 1)) "value from" && some "Notified of error" ;;
    tutorial/04.if_error) ends && some "^Sendrecv  " ;;
    tutorial/05.err_coll) ends ;;
    tutorial/06.err_comm_dup) ends && is 1 "ftdup   (safe w/f)" ;;
    tutorial/07.err_comm_grid2d) ends && is 1 "ftgrid  (safe w/f)" ;;
    tutorial/08*) ends && is 1 "Master received $((n - 1)) messages after detecting 1 faults" ;;
    tutorial/09.err_insulation) ends && is $((n / 2 - 1)) "Notified of error" ;;
    tutorial/10.respawn | tutorial/11.respawn_reorder | benchmarks/benchrespawn) ends && is 1 "Bcast (post fault)" ;;
    tutorial/13.transactions) ends && is $((n - 1)) "catch the inner-loop block" ;;
    tutorial/bagf-*) ends && is 1 "Root has finished, result found" && some "aborting" ;;
    tutorial/jacobi) ends && is 1 "Loop    (w/ fault)" && some "Done with the recovery" ;;
    benchmarks/benchagree) ends && is 0 "Correctness error" && is $((n - 2)) "^AFTER_FAILURE" ;;
    benchmarks/benchshrink | benchmarks/benchishrink) ends && is 0 "Correctness error" && is $((n - 2)) "^AFTER_FAILURE" ;;
    benchmarks/benchdetect_barrier) ends && is 1 "Barrier (w/ fault)" ;;
    benchmarks/benchdetect_recvany) ends && is 1 "Recv(ANY) (w/ fault)" ;;
    benchmarks/benchiagree) ends && is $((11 * n)) "^Iagree" ;;
    *)
        wants=" a verdict, which tests/ulfm/verdicts.sh lacks"
        false
        ;;
    esac
}
