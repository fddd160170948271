#!/bin/sh
# What a parallel debugger finds in mpiexec, by the MPIR interface: gdb is one. It starts a job, of one node or of two hosts: the table has the processes
# of all ranks, and these are held in MPI_Init until mpiexec goes on from MPIR_Breakpoint. It comes to a job that runs: the table is there too.
# Usage: tests/debugger-test.sh PREFIX [hosts]     `hosts`: on two hosts, which are network namespaces; without it, both
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
if [ "${2:-}" = hosts ]; then
    name=gdb$$
    net=10.$((200 + $$ % 50)).$(($$ / 50 % 250))
    . "$here/hosts/three.sh"
    place=$work
else
    . "$here/common.sh"
    make_place
fi
evidence=$place/log

if ! command -v gdb > /dev/null || ! gdb -nx -batch -ex 'python print(1)' > /dev/null 2>&1; then
    skip "a debugger" "no gdb with Python"
    sums
    exit
fi
sleep 100 &
sleeper=$!
looks=yes
gdb -nx -batch -p "$sleeper" < /dev/null > "$evidence" 2>&1 && ! grep -qi "not permitted" "$evidence" || looks=no
kill "$sleeper"
if [ "$looks" = no ]; then
    skip "a debugger" "this user may not look at other processes (ptrace)"
    sums
    exit
fi
# Each rank writes its process and its host behind MPI_Init, and ends when a file is there.
cat > "$place/held.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char name[1000];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/began.%d", argv[1], rank);
    FILE *began = fopen(name, "w");
    fprintf(began, "%d\n", (int)getpid());
    fclose(began);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(name, sizeof name, "%s/end", argv[1]);
    while (access(name, F_OK)) usleep(10000);
    if (!rank) puts("all have ended");
    MPI_Finalize();
    return 0;
}
END
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$place/held" "$place/held.c"
cat > "$place/table.py" <<'END'
import gdb, os, time

def number(name):
    return int(gdb.parse_and_eval(f"*(int *)&{name}"))

def table():
    gdb.execute("set language c")
    # Two texts and a number, at the beginning of three words. A char of Rust has four bytes, of which gdb would think.
    words = [gdb.parse_and_eval(f"(*(unsigned char ***)&MPIR_proctable)[{word}]") for word in range(3 * number("MPIR_proctable_size"))]
    return [(host.string(), program.string(), int(pid) & 0xffffffff) for host, program, pid in zip(*[iter(words)] * 3)]

def tell(place):
    rows = table()
    print("state", number("MPIR_debug_state"), "starter", number("MPIR_i_am_starter"), flush=True)
    for rank, (host, executable, pid) in enumerate(rows):
        alive = os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(executable)
        with open(f"{place}/told.{rank}", "w") as told:
            print(pid, file=told)
        print("rank", rank, "on", host, "is", os.path.basename(executable), "runs" if alive else "does not run", flush=True)
END
# Started by the debugger: stopped as soon as the ranks are there, and none of them has come out of MPI_Init.
cat > "$place/start.gdb" <<END
set pagination off
set breakpoint pending off
source $place/table.py
break main
run
set language c
set var *(int *)&MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
python tell("$place")
python time.sleep(1)
python print("out of MPI_Init:", [name for name in os.listdir("$place") if name.startswith("began")], flush=True)
shell touch $place/end
continue
END

# started WHAT HOSTS ARGUMENT...: such a job of three ranks; HOSTS: a pattern for the names of its hosts.
started() {
    what=$1 hosts=$2
    shift 2
    rm -f "$place"/told.* "$place"/began.* "$place/end"
    timeout --kill-after=5 100 gdb -nx -batch -x "$place/start.gdb" --args "$prefix/bin/mpiexec" "$@" -n 3 "$place/held" "$place" \
        < /dev/null > "$evidence" 2>&1 || true
    wrong=
    grep -q '^state 1 starter 1$' "$evidence" || wrong="$wrong, no state"
    for rank in 0 1 2; do
        grep -q "^rank $rank on \($hosts\) is held runs$" "$evidence" || wrong="$wrong, no rank $rank"
        cmp -s "$place/told.$rank" "$place/began.$rank" || wrong="$wrong, another process than that of rank $rank"
    done
    grep -q '^out of MPI_Init: \[\]$' "$evidence" || wrong="$wrong, ranks are not held"
    grep -q '^all have ended$' "$evidence" || wrong="$wrong, the job did not end"
    if [ -z "$wrong" ]; then ok "$what"; else fail "$what" "${wrong#, }"; fi
}
if [ "${2:-}" = hosts ]; then
    started "a debugger starts a job of two hosts" "${name}[ab]" --remote-shell "$work/shell" --hosts "${name}a:2,${name}b"
    sums
    exit
fi
started "a debugger starts a job" "$(uname -n)"

# A debugger comes to a job that runs.
rm -f "$place"/told.* "$place"/began.* "$place/end"
timeout --kill-after=5 100 "$prefix/bin/mpiexec" -n 3 "$place/held" "$place" < /dev/null > "$place/said" 2>&1 &
job=$!
for _ in $(seq 600); do
    [ "$(cat "$place"/began.* 2> /dev/null | wc -l)" -lt 3 ] || break
    sleep 0.1
done
# The job runs under timeout, whose child mpiexec is.
launcher=$(cat "/proc/$job/task/$job/children" 2> /dev/null || true)
gdb -nx -batch -x "$place/table.py" -ex "python tell('$place')" -p "${launcher% }" < /dev/null > "$evidence" 2>&1 || true
touch "$place/end"
wrong=
wait "$job" || wrong=", the job ended with code $?"
for rank in 0 1 2; do
    cmp -s "$place/told.$rank" "$place/began.$rank" || wrong="$wrong, another process than that of rank $rank"
done
if [ -z "$wrong" ]; then ok "a debugger comes to a job that runs"; else fail "a debugger comes to a job that runs" "${wrong#, }"; fi

# One debugger for each rank, all in this terminal: lines go to those that are chosen, and the job's code is that of its debuggers.
rm -f "$place"/began.*
touch "$place/end"
printf '%s\n' 'break main' run 'z 1' 'print 41+1' z continue quit |
    timeout --kill-after=5 100 "$prefix/bin/mpiexec" --gdb -n 2 "$place/held" "$place" > "$evidence" 2>&1 || echo "code $?" >> "$evidence"
wrong=
for rank in 0 1; do
    grep -q "^\[$rank\] Breakpoint 1, .*main" "$evidence" || wrong="$wrong, rank $rank does not stop"
    grep -q "^\[$rank\] .*exited normally" "$evidence" || wrong="$wrong, rank $rank does not end"
done
grep -q '^\[1\] .*= 42$' "$evidence" || wrong="$wrong, what is for rank 1 does not come there"
! grep -q '^\[0\] .*= 42$' "$evidence" || wrong="$wrong, what is for rank 1 comes to rank 0"
! grep -q '^code' "$evidence" || wrong="$wrong, $(tail -n 1 "$evidence")"
if [ -z "$wrong" ]; then ok "a debugger for each rank"; else fail "a debugger for each rank" "${wrong#, }"; fi
# A rank that fails stops in its debugger before the job ends, so that its stack can be asked for.
cat > "$place/fails.c" <<'END'
#include <mpi.h>
void fails_here(void) { MPI_Send(0, 0, MPI_INT, 99, 0, MPI_COMM_WORLD); }
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!rank) fails_here();
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
END
"$prefix/bin/mpicc" -g -O0 -w -o "$place/fails" "$place/fails.c"
code=0
printf '%s\n' run 'z 0' backtrace continue |
    timeout --kill-after=5 100 "$prefix/bin/mpiexec" --gdb -n 2 "$place/fails" > "$evidence" 2>&1 || code=$?
wrong=
grep -q '^\[0\] .*SIGTRAP' "$evidence" || wrong="$wrong, rank 0 does not stop"
grep -q '^\[0\] #[0-9]* .*fails_here ()' "$evidence" || wrong="$wrong, its stack does not show what failed"
grep -qi 'it stops here for the debugger' "$evidence" || wrong="$wrong, nobody says why"
grep -q '^mpiexec: rank 0 .*MPI_Send failed' "$evidence" || wrong="$wrong, the job does not end for that"
[ "$code" -ne 0 ] && [ "$code" -ne 124 ] || wrong="$wrong, code $code"
if [ -z "$wrong" ]; then ok "a rank that fails stops in its debugger"; else fail "a rank that fails stops in its debugger" "${wrong#, }"; fi
# The message queues of a process that waits, by the library that parallel debuggers load; gdb's command tern-queues is such a debugger.
rm -f "$place"/began.* "$place/end"
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$place/queues" "$here/debugger/queues.c"
timeout --kill-after=5 100 "$prefix/bin/mpiexec" -n 2 "$place/queues" "$place" < /dev/null > "$place/said" 2>&1 &
job=$!
for _ in $(seq 600); do
    [ "$(cat "$place"/began.* 2> /dev/null | wc -l)" -lt 2 ] || break
    sleep 0.1
done
# Until rank 0 is in its last receive, which comes right after.
for _ in $(seq 30); do
    gdb -nx -batch -ex "source $prefix/share/tern/gdb.py" -p "$(cat "$place/began.0")" -ex tern-queues < /dev/null > "$evidence" 2>&1 || true
    ! grep -q 'tag 99' "$evidence" || break
done
touch "$place/end"
wrong=
wait "$job" || wrong=", the job ended with code $?"
# The list is MPI_COMM_WORLD's and that of `work`, in which rank 0 of the world is rank 1.
sed -n '/^work\|^MPI_COMM_WORLD\|^  /p' "$evidence" | sed 's/ at 0x[0-9a-f]*//' > "$place/list"
cat > "$place/right" <<'END'
work (rank 1 of 2)
  receive from any rank, tag 7, 400 bytes
  receive from rank 0 (rank 1 of MPI_COMM_WORLD), tag 8, 1000 bytes
  message from rank 0 (rank 1 of MPI_COMM_WORLD), tag 10, 100000 bytes
MPI_COMM_WORLD (rank 0 of 2)
  receive from rank 1, tag 70, elements of a datatype with gaps
  receive from rank 1, tag 99, 8 bytes
  message from rank 1, tag 9, 5 bytes
END
sed 's/, its sender can see it//' "$place/list" | cmp -s - "$place/right" || wrong="$wrong, another list: $(cat "$place/list")"
if [ -z "$wrong" ]; then ok "the message queues of a rank"; else fail "the message queues of a rank" "${wrong#, }"; fi
# Each chosen rank in a window of its own, of a display that nobody sees.
if ! command -v xterm > /dev/null || ! command -v Xvfb > /dev/null; then
    skip "windows for ranks" "no xterm or no Xvfb"
else
    rm -f "$place"/began.* "$place/end"
    mkfifo "$place/display"
    Xvfb -displayfd 7 -screen 0 800x600x8 -nolisten tcp 7> "$place/display" > /dev/null 2>&1 &
    server=$!
    display=
    read -r display < "$place/display" || true
    wrong=
    if [ -z "$display" ]; then
        skip "windows for ranks" "Xvfb does not start"
    else
        DISPLAY=:$display timeout --kill-after=5 100 "$prefix/bin/mpiexec" --xterm 1 -n 2 "$place/held" "$place" < /dev/null > "$evidence" 2>&1 &
        job=$!
        for _ in $(seq 600); do
            [ "$(cat "$place"/began.* 2> /dev/null | wc -l)" -lt 2 ] || break
            sleep 0.1
        done
        # Whose child a rank is: a window's, or not.
        for rank in 0 1; do
            pid=$(cat "$place/began.$rank" 2> /dev/null || echo none)
            echo "$rank $(ps -o comm= -p "$(ps -o ppid= -p "$pid" 2> /dev/null | tr -d ' ')" 2> /dev/null)"
        done > "$place/parents"
        touch "$place/end"
        wait "$job" || wrong=", the job ended with code $?"
        grep -q '^1 xterm' "$place/parents" || wrong="$wrong, rank 1 has no window"
        ! grep -q '^0 xterm' "$place/parents" || wrong="$wrong, rank 0 has a window"
        if [ -z "$wrong" ]; then ok "a window for a rank"; else fail "a window for a rank" "${wrong#, }: $(cat "$place/parents")"; fi
    fi
    kill "$server" 2> /dev/null || true
fi
code=0
sums || code=1
# With a line of sums of its own.
"$0" "$prefix" hosts || code=1
exit $code
