#!/bin/bash
# mpiexec in an allocation: hosts and slots from Slurm, PBS, LSF and Grid Engine, by stand-ins for their programs; from a
# real Slurm of three nodes on this machine, where there is one; agents in a tree, on many simulated hosts.
# Usage: tests/allocation-test.sh PREFIX [PART...]    PART: managers, tree, slurm [all]
#   TERN_TEST_HOSTS    simulated hosts of the tree [64]
# What a machine does not have is skipped, aloud.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [PART...]"}" && pwd)
. "$here/common.sh"
shift
[ $# -gt 0 ] || set -- managers tree slurm
work=$(mktemp -d)
evidence=$work/log
mark=allocation-test-$$
export TERN_TEST_MARK=$mark TERN_COSTS=default
slurm=

remove() {
    trap - EXIT INT TERM
    [ -z "$slurm" ] || "$here/launchers/slurm.sh" stop "$slurm"
    rm -rf "$work"
}
trap remove EXIT
trap 'remove; exit 1' INT TERM

# The processes that have the mark in their environment, but for this script and its like.
left() {
    grep -l -a -z "^TERN_TEST_JOB=$mark-$job\$" /proc/[0-9]*/environ 2> /dev/null | tr -dc '0-9\n' || true
}

none_left() {
    for _ in $(seq 200); do
        [ -n "$(left)" ] || return 0
        sleep 0.1
    done
    # shellcheck disable=SC2046
    ps -o pid,args -p $(left | paste -sd,) >> "$work/log" 2>&1
    # shellcheck disable=SC2046
    kill -9 $(left) 2> /dev/null || true
    return 1
}

job=0
# check WHAT CODE PATTERN COMMAND...: exit code (`nonzero`: any but 0), what a line must match, and that nothing is left.
check() {
    what=$1 wanted=$2 pattern=$3
    shift 3
    job=$((job + 1))
    code=0
    TERN_TEST_JOB=$mark-$job timeout --kill-after=5 100 "$@" > "$work/log" 2>&1 < /dev/null || code=$?
    if [ "$wanted" = nonzero ] && [ "$code" = 0 ] || [ "$wanted" != nonzero ] && [ "$code" != "$wanted" ]; then
        fail "$what: exit code $code, expected $wanted"
    elif ! grep -a -q -e "$pattern" "$work/log"; then
        fail "$what: no line matches: $pattern"
    elif ! none_left; then
        fail "$what: processes are left"
    else
        ok "$what"
    fi
}

# killed WHAT COMMAND HOW...: of a job of 3 ranks that wait, HOW kills a process; then all of it must end.
killed() {
    what=$1 command=$2
    shift 2
    job=$((job + 1))
    rm -f "$work/pids"
    # shellcheck disable=SC2086
    TERN_TEST_JOB=$mark-$job $command "$work/job" wait "$work/pids" > "$work/log" 2>&1 < /dev/null &
    launcher=$!
    for _ in $(seq 600); do
        [ "$(cat "$work/pids" 2> /dev/null | wc -l)" -ge 3 ] && break
        sleep 0.1
    done
    code=0
    "$@"
    wait $launcher 2> /dev/null || code=$?
    if [ "$code" = 0 ]; then
        fail "$what: exit code 0"
    elif ! none_left; then
        fail "$what: processes are left"
    else
        ok "$what (code $code): $(grep -a -m 1 '^mpiexec: ' "$work/log" | cut -c 1-110)"
    fi
}

kill_rank() { kill -9 "$(sed -n 2p "$work/pids")"; }
kill_launcher() { kill -9 $launcher; }
# The parent of a rank is its agent.
kill_agent() { kill -9 "$(cut -d ' ' -f 4 "/proc/$(sed -n 3p "$work/pids")/stat")"; }

"$prefix/bin/mpicc" -O1 -Wall -o "$work/job" "$here/launchers/job.c"
mpiexec=$prefix/bin/mpiexec

# Programs of managers: each notes how it was called, and runs the rest of its words here.
stand_in() {
    mkdir -p "$work/bin"
    cat > "$work/bin/$1" <<STANDIN
#!/bin/sh
echo "$1 \$*" >> "$work/called"
while [ "\${1#-}" != "\$1" ]; do
    [ "\$1" != -o ] || shift
    shift
done
shift
exec "\$@"
STANDIN
    chmod +x "$work/bin/$1"
}

managers() {
    for name in ssh blaunch qrsh; do stand_in $name; done
    printf '%s\n' ha ha hb > "$work/nodes"
    printf '%s\n' 'ha 2 all.q@ha UNDEFINED' 'hb 1 all.q@hb 0,1:0,2' > "$work/table"
    pbs="env PATH=$work/bin:$PATH PBS_JOBID=5.server PBS_NODEFILE=$work/nodes"
    lsf="env PATH=$work/bin:$PATH LSB_JOBID=8 LSB_DJOB_HOSTFILE=$work/nodes"
    sge="env PATH=$work/bin:$PATH JOB_ID=9 PE_HOSTFILE=$work/table"
    # shellcheck disable=SC2016
    called=(sh -c '"$@" && cat "$0"' "$work/called")
    : > "$work/called"
    check "PBS: all slots, agents by ssh" 0 "^ssh -o BatchMode=yes hb " "${called[@]}" $pbs "$mpiexec" "$work/job"
    grep -q '^rank 2 of 3 sum 3' "$work/log" || fail "PBS: three slots are three ranks"
    check "PBS: ranks of the first host" 0 "^\[1\] rank 1 of 2 sum 1" $pbs "$mpiexec" -n 2 -l "$work/job"
    : > "$work/called"
    check "LSF: agents by blaunch" 0 "^blaunch ha " "${called[@]}" $lsf "$mpiexec" "$work/job"
    check "LSF: pairs in a variable" 0 "^rank 2 of 3" env "PATH=$work/bin:$PATH" LSB_JOBID=8 "LSB_MCPU_HOSTS=ha 2 hb 1" "$mpiexec" "$work/job"
    : > "$work/called"
    cat > "$work/bin/qrsh" <<STANDIN
#!/bin/sh
echo "qrsh \$*" >> "$work/called"
[ "\$1 \$2" = "-inherit -V" ] || exit 1
shift 3
exec "\$@"
STANDIN
    check "Grid Engine: agents by qrsh" 0 "^qrsh -inherit -V hb " "${called[@]}" $sge "$mpiexec" "$work/job"
    check "more ranks than slots are told" 0 "5 ranks share the 3 slots of Grid Engine job 9" $sge "$mpiexec" -n 5 "$work/job"
    check "more ranks than slots are refused" 2 "5 ranks are more than the 3 slots" $sge "$mpiexec" -n 5 --nooversubscribe "$work/job"
    check "hosts that are named go first" 0 "^rank 0 of 1" $sge "$mpiexec" --hosts localhost "$work/job"
    check "no manager" 0 "^rank 0 of 1" $sge "$mpiexec" -rmk none "$work/job"
    check "a launcher that is asked for" 0 "^rank 2 of 3" $sge "$mpiexec" -launcher fork "$work/job"
    check "a damaged allocation" 2 "PE_HOSTFILE=/dev/null/none: .*-rmk none" env JOB_ID=9 PE_HOSTFILE=/dev/null/none "$mpiexec" "$work/job"
    check "ranks in turns" 0 "^rank 2 of 3" $sge "$mpiexec" --map-by node --report-bindings "$work/job"
    order=$(grep -o '^mpiexec: rank [0-9] (process [0-9]* on h[ab]' "$work/log" | sed 's/(process [0-9]* on //' | cut -d ' ' -f 3,4 | paste -sd,)
    [ "$order" = "0 ha,1 hb,2 ha" ] && ok "ranks are reported in order: $order" || fail "ranks are not reported in order: $order"
    # Ranks of a node that do not follow each other.
    for program in comm_nodes coll_intra coll_vector rma_put_get; do
        "$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/$program" "$here/c/$program.c"
        check "$program, ranks in turns on two nodes" 0 "^mpiexec: rank 3 .* is started" "$mpiexec" -v -n 4 --nodes 2 --map-by node "$work/$program"
    done
}

# Many hosts: the shell notes which process has started which agent, and runs it here.
tree() {
    count=${TERN_TEST_HOSTS:-64}
    # What is to be ended here ends when it is asked to.
    export TERN_GRACE=500ms
    hosts=$(seq -f 'h%g:4' -s , "$count")
    ranks=$((count * 4))
    cat > "$work/shell" <<STANDIN
#!/bin/sh
echo "\$PPID" >> "$work/parents"
[ "\$1" != "\$TERN_TEST_ABSENT" ] || exit 7
[ "\$1" != "\$TERN_TEST_MUTE" ] || exec sleep 1000
shift
exec "\$@"
STANDIN
    chmod +x "$work/shell"
    many="$mpiexec --remote-shell $work/shell --hosts $hosts -n $ranks"
    : > "$work/parents"
    # shellcheck disable=SC2016
    check "$count hosts: the output of $ranks ranks" 0 "^\[$((ranks - 1))\] .* of $ranks" $many -l sh -c 'echo $TERN_RANK of $TERN_SIZE; seq 200'
    lines=$(grep -c -E '^\[[0-9]+\] [0-9]+( of [0-9]+)?$' "$work/log")
    [ "$lines" = $((ranks * 201)) ] && ok "no line is lost or torn: $lines" || fail "$lines whole lines, not $((ranks * 201))"
    most=$(sort "$work/parents" | uniq -c | sort -rn | awk 'NR == 1 { print $1 }')
    [ "$(wc -l < "$work/parents")" -ge $((count - 1)) ] && [ "$most" -le 33 ] && ok "nobody starts more than $most agents" ||
        fail "one process starts $most agents"
    check "an agent of the tree cannot be started" 1 "the agent on host h$count did not start: .*exit code 7" \
        env TERN_TEST_ABSENT="h$count" $many sleep 100
    check "a first agent cannot be started" 1 "the agent on host h2 did not start: .*exit code 7" env TERN_TEST_ABSENT=h2 $many sleep 100
    check "a rank fails far down" 5 "rank $((ranks - 1)) .*exited with code 5" \
        $many sh -c "[ \$TERN_RANK != $((ranks - 1)) ] || exit 5; sleep 100"
    # A rank ends its agent: one that others have started, and one that has started others.
    for rank in $((ranks - 1)) 4; do
        check "the agent of rank $rank is killed" 1 "the connection to host h$((rank / 4 + 1)) is lost" \
            $many sh -c "[ \$TERN_RANK != $rank ] || kill -9 \$PPID; sleep 100"
    done
    # shellcheck disable=SC2016
    check "the parent of the agent of rank 4 is killed" 1 "the connection to host h2 is lost" \
        $many sh -c '[ $TERN_RANK != 4 ] || kill -9 $(cut -d " " -f 4 /proc/$PPID/stat); sleep 100'
    check "a time limit, and an agent that never comes" 124 "has not ended after 3 s" env TERN_TEST_MUTE="h$count" $many --timeout 3 sleep 100
    check "the standard input goes to a rank far down" 0 "^read: a line" \
        sh -c "echo a line | $many --stdin $((ranks - 1)) sh -c '[ \$TERN_RANK != $((ranks - 1)) ] || sed s/^/read:\ /'"
}

slurm() {
    if ! command -v slurmctld > /dev/null || ! command -v slurmd > /dev/null || [ "$(id -u)" != 0 ]; then
        skip "slurm" "Debian's slurm-wlm is not there, or this is not root"
        return
    fi
    slurm=$work/slurm
    if ! "$here/launchers/slurm.sh" start "$slurm" > "$work/log" 2>&1; then
        skip "slurm" "it cannot be started: $(tail -n 1 "$work/log" | cut -c 1-200)"
        return
    fi
    export SLURM_CONF="$slurm/slurm.conf"
    cd "$work"
    check "salloc -N3" 0 '^rank 2 of 3 sum 3$' salloc -N3 -n3 "$mpiexec" "$work/job"
    check "salloc -N3 -n8: all slots" 0 '^rank 7 of 8 sum 28$' salloc -N3 -n8 "$mpiexec" "$work/job"
    check "salloc: ranks in turns" 0 '^rank 5 of 6 sum 15$' salloc -N3 --ntasks-per-node=2 "$mpiexec" --map-by node --report-bindings "$work/job"
    order=$(grep -a -o '^mpiexec: rank [0-9] (process [0-9]* on tern[0-9]' "$work/log" | sed 's/.* on tern//' | paste -sd,)
    [ "$order" = "1,2,3,1,2,3" ] && ok "nodes in turns" || fail "nodes in turns: $order"
    check "more ranks than slots" 0 '^mpiexec: 4 ranks share the 3 slots of Slurm job' salloc -N3 -n3 "$mpiexec" -n 4 "$work/job"
    check "one of the nodes" 0 '^rank 1 of 2 sum 1$' salloc -N3 -n3 "$mpiexec" --hosts tern2 -n 2 "$work/job"
    # shellcheck disable=SC2016
    check "the standard input" 0 '^read: a line' \
        salloc -N3 -n3 sh -c 'echo a line | "$0" sh -c "[ \$TERN_RANK != 0 ] || sed s/^/read:\ /"' "$mpiexec"
    check "an exit code" 3 'exited with code 3 after MPI_Finalize' salloc -N3 -n3 "$mpiexec" "$work/job" code
    check "MPI_Abort" 7 'called MPI_Abort' salloc -N3 -n3 "$mpiexec" "$work/job" abort
    killed "a rank is killed" "salloc -N3 -n3 $mpiexec" kill_rank
    killed "an agent is killed" "salloc -N3 -n3 $mpiexec" kill_agent
    # What the user has started, of which salloc is the parent.
    kill_mpiexec() {
        kill -9 "$(pgrep -P $launcher | head -n 1)"
        # salloc does not tell how its command has ended.
        code=137
    }
    killed "mpiexec is killed" "salloc -N3 -n3 $mpiexec" kill_mpiexec
    cancel() { scancel "$(squeue -h -o %A | head -n 1)"; }
    killed "scancel" "salloc -N3 -n3 $mpiexec" cancel
    printf '#!/bin/sh\nexec "%s" "%s"\n' "$mpiexec" "$work/job" > "$work/script"
    check "sbatch" 0 '^rank 3 of 4 sum 6$' sh -c "sbatch --wait -N2 -n4 -o $work/batch $work/script; cat $work/batch"
}

for part; do "$part"; done
sums
