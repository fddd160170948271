#!/bin/sh
# Lets things go wrong on the network between simulated nodes: what can be repeated is, without wrong data; what
# cannot ends in a clear error, or is returned to a program that asks for that; and nothing hangs.
# Usage: tests/faults-test.sh PREFIX
# Times only bound how long a test waits for what must happen.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
mpiexec=$prefix/bin/mpiexec
make_place
evidence=$place/said
# Seconds for a job.
patience=60

# job RANKS FAULTS ARGUMENT...: runs the traffic over two nodes; leaves its exit code in `code`.
job() {
    ranks=$1 faults=$2
    shift 2
    code=0
    TERN_NETWORK=software TERN_FAULTS=$faults timeout --kill-after=5 "$patience" \
        "$mpiexec" --nodes 2 -n "$ranks" "$place/traffic" "$@" < /dev/null > "$place/said" 2>&1 || code=$?
}

# recovers RANKS FAULTS WAY: all goes well in the end.
recovers() {
    label="$3, $1 ranks: ${2:-no fault}${TERN_RENDEZVOUS:+, $TERN_RENDEZVOUS}"
    job "$@"
    if [ "$code" -eq 0 ]; then ok "$label"; else fail "$label" "exit code $code"; fi
}

# ends RANKS FAULTS WAY: the job ends with an error that names a process.
ends() {
    label="$3, $1 ranks: $2 ends the job"
    job "$@"
    if [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || [ "$code" -ge 124 ]; then
        fail "$label" "exit code $code"
    elif ! grep -q 'rank [0-9]* of MPI_COMM_WORLD, on node [0-9]*, cannot be reached any more: .' "$place/said"; then
        fail "$label" "nobody says which process is lost, and why"
    else
        ok "$label"
    fi
}

# returns RANKS FAULTS WAY: the calls return the error, all ranks go on and end.
returns() {
    label="$3, $1 ranks: $2 is returned"
    job "$@" return
    if [ "$code" -ne 0 ]; then
        fail "$label" "exit code $code"
    elif [ "$(grep -c '^[0-9]*: \(0\|aborted\)$' "$place/said")" -ne "$1" ] || ! grep -q ': aborted$' "$place/said"; then
        fail "$label" "the error is not MPI_ERR_PROC_ABORTED, or nobody has got it"
    else
        ok "$label"
    fi
}

"$prefix/bin/mpicc" -O1 -Wall -o "$place/traffic" "$here/faults/traffic.c"

# No fault: every way works, by each kind of rendezvous.
for way in short eager long column several collective onesided passive making partitioned; do
    recovers 2 "" "$way"
done
for kind in rget rput packets; do
    TERN_RENDEZVOUS=$kind
    export TERN_RENDEZVOUS
    recovers 4 "" long
    recovers 2 "" column
    unset TERN_RENDEZVOUS
done

# What the network repeats, and memory that cannot be registered.
recovers 2 rnr=1/3 short
recovers 2 rnr=1/3 several
recovers 2 full=1/3 eager
recovers 2 full=1/3 several
recovers 2 slow=300us long
recovers 2 rnr=1/3,full=1/3 onesided
recovers 3 full=1/3 passive
recovers 2 early-room several
recovers 3 early-room passive
recovers 2 locked=3M passive
recovers 2 locked=3M long
recovers 2 locked=3M column
recovers 4 rnr=1/3,full=1/3 collective
for way in short eager long column several making; do
    # Each packet that is refused waits for its next time: one of two would make it a matter of minutes.
    recovers 2 rnr=1/5,full=1/2,locked=3M "$way"
done

# That the network has repeated something is counted, and that no more can be registered is said once by a process.
label="what is repeated is counted"
TERN_STATS=1 job 2 rnr=1/3 short
if [ "$code" -eq 0 ] && grep -q 'network_not_ready .*[1-9]' "$place/said"; then ok "$label"; else fail "$label" "exit code $code"; fi
label="refused registration is told once"
job 2 locked=3M long
lines=$(grep -c 'no more memory can be registered' "$place/said" || true)
if [ "$code" -eq 0 ] && [ "$lines" -ge 1 ] && [ "$lines" -le 2 ]; then ok "$label"; else fail "$label" "exit code $code, $lines lines"; fi

# The link of one of two ports is cut while stripes are on it: the other carries all, and what was under way spoils nothing.
TERN_PORTS=2
export TERN_PORTS
recovers 2 cut-port=1/30 long
if ! grep -q 'port 1 towards process [01] has failed' "$place/said"; then fail "$label" "no port has failed"; fi
TERN_TUPLEQ=off
export TERN_TUPLEQ
for kind in rget rput; do
    TERN_RENDEZVOUS=$kind
    export TERN_RENDEZVOUS
    recovers 2 cut-port=1/30 long
    if ! grep -q 'port 1 towards process [01] has failed' "$place/said"; then fail "$label" "no port has failed"; fi
    recovers 4 cut-port=1/7 column
    unset TERN_RENDEZVOUS
done
unset TERN_PORTS TERN_TUPLEQ

# A connection that is lost, and an access that is refused.
ends 2 cut-after=40 short
returns 2 cut-after=40 eager
ends 2 cut-after=40 long
returns 2 cut-after=40 long
ends 2 cut-after=40 column
returns 2 cut-after=40 several
ends 4 cut-after=40 collective
returns 2 cut-after=40 collective
ends 2 cut-after=40 onesided
returns 2 cut-after=40 onesided
ends 2 cut-after=200 passive
for after in 30 77 200; do returns 2 cut-after=$after passive; done
ends 2 cut-after=40 partitioned
returns 2 cut-after=40 partitioned
ends 2 access=1/30 long
returns 2 access=1/30 several

# With more than two ranks some lose nobody themselves. Every call gives each rank right data or an error, and none waits.
for way in short eager long several collective onesided passive; do returns 4 cut-after=40 "$way"; done
returns 3 cut-after=25 making
"$prefix/bin/mpicc" -O1 -Wall -o "$place/collectives" "$here/faults/collectives.c"
# collectives NODES RANKS FAULTS [WAY]
collectives() {
    nodes=$1 ranks=$2 faults=$3
    shift 3
    code=0
    TERN_NETWORK=software TERN_FAULTS=$faults timeout --kill-after=5 "$patience" \
        "$mpiexec" --nodes "$nodes" -n "$ranks" "$place/collectives" "$@" < /dev/null > "$place/said" 2>&1 || code=$?
}
for job in "2 4 3" "2 4 10" "2 4 60" "3 3 25" "3 3 60" "3 4 10" "3 6 25"; do
    # shellcheck disable=SC2086
    set -- $job
    label="collectives, $2 ranks on $1 nodes: cut-after=$3 is returned"
    collectives "$1" "$2" "cut-after=$3"
    if [ "$code" -ne 0 ]; then
        fail "$label" "exit code $code"
    elif [ "$(grep -c '^[0-9]*: \(0\|aborted\)$' "$place/said")" -ne "$2" ] || ! grep -q ': aborted$' "$place/said"; then
        fail "$label" "the error is not MPI_ERR_PROC_ABORTED, or nobody has got it"
    else
        ok "$label"
    fi
done
for nodes in 1 2 3; do
    label="collectives, 4 ranks on $nodes nodes: one is killed"
    collectives "$nodes" 4 "" dies
    if [ "$code" -eq 137 ] && grep -q 'rank 3 .*killed' "$place/said"; then ok "$label"; else fail "$label" "exit code $code"; fi
done

# Early, and while communicators and windows are made: what cannot be made is made nowhere.
for after in 2 7 9; do ends 2 cut-after=$after onesided; done
for after in 5 25; do ends 3 cut-after=$after making; done
returns 2 cut-after=12 making

# File descriptors: a limit that may be raised is; who cannot connect says why, and nobody waits for it.
"$prefix/bin/mpicc" -O1 -Wall -o "$place/files" "$here/faults/files.c"
files() {
    code=0
    TERN_NETWORK=software timeout --kill-after=5 "$patience" \
        "$mpiexec" --nodes 2 -n 4 "$place/files" "$@" < /dev/null > "$place/said" 2>&1 || code=$?
}
label="a limit of descriptors is raised"
files 0 soft
if [ "$code" -eq 0 ] && [ "$(grep -c '^[0-9]: 0' "$place/said")" -eq 4 ]; then ok "$label"; else fail "$label" "exit code $code"; fi
for free in 0 1 2 3; do
    label="$free descriptors are left"
    files "$free" hard
    # It needs one for each of two peers, and more where both sides connect at the same time.
    if [ "$code" -ne 0 ]; then
        fail "$label" "exit code $code"
    elif [ "$(grep -c '^[0-9]: \(0\|aborted\)' "$place/said")" -ne 4 ]; then
        fail "$label" "not all ranks have ended as they should"
    elif [ "$free" -lt 2 ] && ! grep -q '^1: aborted' "$place/said"; then
        fail "$label" "rank 1 lacked nothing"
    elif grep -q '^1: 0' "$place/said" && grep -q aborted "$place/said"; then
        fail "$label" "another rank lacks what rank 1 has"
    else
        ok "$label"
    fi
done
label="who lacks descriptors says so"
files 0 hard fatal
if [ "$code" -eq 0 ] || [ "$code" -ge 124 ]; then
    fail "$label" "exit code $code"
elif ! grep -q 'cannot be reached any more: .*no file descriptor left.*ulimit -n' "$place/said"; then
    fail "$label" "nobody says what is missing"
else
    ok "$label"
fi

# A rank that is killed.
label="a rank is killed on another node"
job 4 "" dies return
if [ "$code" -ne 137 ]; then
    fail "$label" "exit code $code"
elif ! grep -q 'rank 3 .*killed' "$place/said"; then
    fail "$label" "the lost rank is not named"
else
    ok "$label"
fi

# Over XRC, with two processes on each node.
TERN_VERBS_TRANSPORT=xrc
export TERN_VERBS_TRANSPORT
recovers 4 rnr=1/3,full=1/3,locked=3M several
recovers 4 "" onesided
recovers 4 rnr=1/3,full=1/3 passive
returns 2 cut-after=100 passive
ends 4 cut-after=40 passive
ends 4 cut-after=40 short
ends 4 access=1/30 long
unset TERN_VERBS_TRANSPORT

sums
