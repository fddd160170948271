#!/bin/sh
# TERN_CHECK: mistakes of programs are found and named; a clean program is left alone.
# Usage: tests/check-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

"$prefix/bin/mpicc" -Wall -o "$place/mistakes" "$here/debug/mistakes.c"

# run CHECK WAY [return]: what the job says, and its exit code at the end.
run() {
    code=0
    TERN_CHECK=$1 timeout --kill-after=5 60 "$prefix/bin/mpiexec" -n 2 "$place/mistakes" "$2" ${3:-} \
        < /dev/null > "$place/said" 2>&1 || code=$?
    echo "exit code $code" >> "$place/said"
}

# expect LABEL: reads lines that must be said; those that start with `!` must not be.
expect() {
    wrong=
    while read -r line; do
        case $line in
        !*) ! grep -q -e "${line#!}" "$place/said" || wrong="a line matches: ${line#!}" ;;
        *) grep -q -e "$line" "$place/said" || wrong="no line matches: $line" ;;
        esac
    done
    if [ -z "$wrong" ]; then
        ok "$1"
    else
        fail "$1" "$wrong"
        cut -c 1-300 "$place/said" | sed 's/^/    /'
    fi
}

run on signature
expect 'a receive of another type' << 'LINES'
MPI_Recv failed in rank 1 .*the message of 16 bytes from rank 0 with tag 9 is of Int32, but this receive is of Float32 (MPI_FLOAT)
MPI_ERR_TYPE
LINES

run on signature-later
expect 'a long message to a receive of another type' << 'LINES'
MPI_Wait failed in rank 1 .*800000 bytes from rank 0 with tag 9 is of Float64, but this receive is of Int64 (MPI_LONG)
LINES

run on signature-part
expect 'a message of another type that is shorter than an element' << 'LINES'
the message of 3 bytes from rank 0 with tag 9 is of Char, but this receive is of Int32 (MPI_INT)
LINES

run on truncation
expect 'a message longer than its receive' << 'LINES'
the message of 16 bytes from rank 0 with tag 9 is longer than the receive, which has room for 8 bytes
LINES

run on collective
expect 'two collectives' << 'LINES'
on MPI_COMM_WORLD: rank 0 calls MPI_Bcast, but rank 1 calls MPI_Reduce
LINES

run on collective-or-not
expect 'a barrier and a new communicator' << 'LINES'
on MPI_COMM_WORLD: rank 0 calls MPI_Barrier, but rank 1 calls MPI_Comm_dup
LINES

run on root
expect 'two roots' << 'LINES'
rank 0 calls MPI_Bcast with root 0, but rank 1 calls MPI_Bcast with root 1
MPI_ERR_ROOT
LINES

run on root return
expect 'both ranks get the error' << 'LINES'
^rank 0: bcast: class 8$
^rank 1: bcast: class 8$
^exit code 0$
LINES

run on operation
expect 'two operations' << 'LINES'
with operation MPI_SUM, but rank 1 calls MPI_Allreduce with operation MPI_MAX
LINES

run on counts
expect 'other counts' << 'LINES'
in MPI_Allgather rank 1 gives 4 x Int32 (16 bytes) to rank 0, which expects 3 x Int32 (12 bytes)
LINES

run on vector
expect 'a block that is too long' << 'LINES'
in MPI_Gatherv rank 1 gives 3 x Int32 (12 bytes) to rank 0, which expects 2 x Int32 (8 bytes)
LINES

run on types
expect 'other types in a nonblocking collective' << 'LINES'
MPI_Wait failed .*in MPI_Ibcast rank 0 gives 1 x Int32 (4 bytes) to rank 1, which expects 1 x Float32 (4 bytes)
LINES

run on leaks
expect 'what is left at the end' << 'LINES'
^tern\[0\]: warning: at MPI_Finalize: 2 communicators "mine" made by MPI_Comm_dup were not freed$
^tern\[0\]: warning: at MPI_Finalize: 1 datatype made by MPI_Type_vector was not freed$
^tern\[0\]: warning: at MPI_Finalize: 1 info object was not freed$
^tern\[0\]: warning: at MPI_Finalize: 1 request made by MPI_Irecv was not freed$
^exit code 0$
!operation
LINES

run on clean
expect 'a clean program' << 'LINES'
^rank 0: all: class 0$
^rank 1: all: class 0$
^exit code 0$
!tern
LINES

# Legal programs run as they do without: many collectives under way at once, and every way to ask for an end.
for program in coll_overlap coll_mixed p2p_complete; do
    code=0
    TERN_CHECK=on TERN_TEST_DIR=$place/legal TERN_TEST_MOST_RANKS=4 "$here/run.sh" "$prefix" "$program" \
        > "$place/said" 2>&1 || code=$?
    echo "exit code $code" >> "$place/said"
    expect "$program is left alone" << 'LINES'
^exit code 0$
LINES
done

run off leaks
expect 'nothing is said when it is off' << 'LINES'
^exit code 0$
!tern
LINES

run off buffering
expect 'buffering works when it is off' << 'LINES'
^exit code 0$
LINES

# With TERN_STALL, a program that relies on buffering is explained, and ended here as soon as it is.
TERN_CHECK=on TERN_STALL=300ms "$prefix/bin/mpiexec" -n 2 "$place/mistakes" buffering < /dev/null > "$place/said" 2>&1 &
launcher=$!
tries=400
while ! grep -q deadlock "$place/said" && [ "$tries" -gt 0 ]; do
    tries=$((tries - 1))
    sleep 0.05
done
kill "$launcher"
wait "$launcher" 2> /dev/null || true
expect 'a program that relies on buffering' << 'LINES'
rank 0: in MPI_Send for .*: waits for rank 1 to receive, tag 3, 4 bytes, MPI_COMM_WORLD$
deadlock: rank 0 and rank 1 wait for each other$
LINES

sums
