#!/bin/sh
# Dynamic processes on several hosts, which are network namespaces of this machine, as in hosts-test.sh: spawn, ports, names, join,
# the death of a process of another job, and the successors of a lost host. Skipped, aloud, where namespaces cannot be made.
# Usage: tests/dynamic-hosts-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
name=terndyn$$
net=10.$((150 + $$ % 50)).$(($$ / 50 % 250))
. "$here/hosts/three.sh"

"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/meet" "$here/dynamic/meet.c"
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/late" "$here/dynamic/late.c"
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/hints" "$here/c/dyn_hints.c"
# Two jobs at a time: `pair HOSTS-N ARGUMENTS HOSTS-N ARGUMENTS`. The log is that of both; the exit code that of the first.
pair() {
    # Splitting at blanks is meant.
    # shellcheck disable=SC2086
    on --hosts $3 "$work/meet" $4 > "$work/second" 2>&1 &
    second=$!
    first=0
    # shellcheck disable=SC2086
    on --hosts $1 "$work/meet" $2 || first=$?
    wait "$second" || echo "the second job has ended with code $?"
    sed 's/^/second: /' "$work/second"
    return "$first"
}
a=${name}a b=${name}b c=${name}c
# also WHAT PATTERN: a line of what the last check ran matches.
also() { if grep -q -e "$2" "$work/log"; then ok "$1"; else fail "$1" "no line with: $2"; fi; }

check "spawn goes to all hosts" 0 "^child [0-3] is on $c" on --hosts "$hosts" -n 3 "$work/meet" spawn 4
check "parents and children of three hosts meet" 0 "^7 processes have met" on --hosts "$hosts" -n 3 "$work/meet" spawn 4
check "spawn goes where room is" 0 "^child 1 is on $b" on --hosts "$a:1,$b:3" -n 2 "$work/meet" spawn 2
check "spawn on a host that is named" 0 "^child 0 is on $b" on --hosts "$a,$b" -n 2 "$work/meet" spawn 1 "$b"
check "spawn from one host to another" 0 "^3 processes have met" on --hosts "$a,$b" -n 2 "$work/meet" spawn 1 "$b"
check "a host without processes of the job" 0 "^not spawned: MPI_ERR_SPAWN" \
    on --hosts "$a,$b" -n 2 "$work/meet" spawn 1 nobody
check "folders, kinds of machines and numbers that a program asks for" 0 "" on --hosts "$a,$b" -n 2 "$work/hints"
# Hosts of the list on which nothing runs at first.
check "a manager's workers go to the other hosts" 0 "^4 on -: $b $b $c $c\$" on --hosts "$a:1,$b:2,$c:2" -n 1 "$work/late" 4 -
check "and meet it" 0 "^5 processes have met" on --hosts "$a:1,$b:2,$c:2" -n 1 "$work/meet" spawn 4
check "all of its room is used" 0 "^5 on -: $a $a $b $b $c\$" on --hosts "$a:3,$b:2,$c:1" -n 1 "$work/late" 5 -
also "and told to the manager" "in a universe of 6\$"
check "the number that the user says is told" 0 "in a universe of 9\$" on --usize 9 --hosts "$a:3,$b:2" -n 1 "$work/late"
check "a host that is named" 0 "^2 on $b: $b $b\$" on --hosts "$hosts" -n 1 "$work/late" 2 "$b"
check "again and again, on one host after the other" 0 "^1 on $c: $c\$" \
    on --hosts "$hosts" -n 1 "$work/late" 1 "$b" 2 "$b" 1 "$c"
also "and the manager ends well" "^the manager goes on"
check "with the number that the program says" 0 "^3 on $b:1,$c:2: $b $c $c\$" \
    on --hosts "$hosts" -n 1 "$work/late" 3 "$b:1,$c:2"
printf '%s slots=1\n%s slots=2\n' "$b" "$c" > "$work/list"
for key in = +; do
    check "hosts of a file, key $key" 0 "^3 on $key$work/list: $b $c $c\$" \
        on --hosts "$hosts" -n 1 "$work/late" 3 "$key$work/list"
    check "of a file that is not there, key $key" 0 "^1 on $key$work/none: not spawned, by another error\$" \
        on --hosts "$hosts" -n 1 "$work/late" 1 "$key$work/none"
done
check "workers start processes on the manager's host" 0 "^1 on $a: $a\$" \
    on --hosts "$hosts" -n 1 -x "BACK=$a" "$work/late" 1 "$b"
check "a host where no agent starts" 0 "^1 on nowhere: not spawned\$" \
    on --hosts "$a,nowhere,$c" -n 1 "$work/late" 1 nowhere 1 "$c" 1 nowhere
also "is no end of the job" "^1 on $c: $c\$"
also "which ends well" "^the manager goes on"

check "two jobs on different hosts, by a port" 0 "^2 processes have met" \
    pair "$a -n 1" "accept @$work/p1" "$b -n 1" "connect @$work/p1"
check "two jobs with different sets of hosts" 0 "^5 processes have met" \
    pair "$a,$b -n 2" "accept @$work/p2" "$b,$c -n 3" "connect @$work/p2"
mkdir "$work/names"
export TERN_NAMES="$work/names"
check "a name in a folder" 0 "^3 processes have met" \
    pair "$a,$b -n 2" "accept service$$" "$c -n 1" "connect service$$"
unset TERN_NAMES
check "names are gone with their job" 0 "^0$" sh -c "ls '$work/names' | wc -l"
check "join between hosts" 0 "2 processes have met" pair "$a -n 1" "join @ 7077" "$b -n 1" "join $net.2 7077"
check "the death of a process of another job is seen" 0 "^the loss is seen" \
    pair "$a -n 2" "accept @$work/p3 die" "$b,$c -n 2" "connect @$work/p3 die"
check "and ends its job" 0 "rank 1 .*killed by signal 9" cat "$work/second"
# Jobs that go on: hosts that are lost, and spare ones (docs/fault-tolerance.md).
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/respawn" "$here/ft/respawn.c"
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/meetft" "$here/ft/meet.c"
printf '%s slots=2\n' "$a" "$b" "$c" > "$work/spare"
check "successors of a lost host go to a spare one" 0 "^rank 3 of 4 has done 6 steps, as a successor" \
    on --with-ft -v --hostfile "$work/spare" -n 4 "$work/respawn" 2 agent
also "both of them" "^rank 2 of 4 has done 6 steps, as a successor"
also "which the launcher tells" "host $b is lost: .*; the job goes on without ranks 2, 3\$"
also "on the host that had none" "rank [01] of spawn 1 (process [0-9]* on $c, .* is started"
check "or to the living ones" 0 "^rank 2 of 3 has done 6 steps, as a successor" \
    on --with-ft --hosts "$a:2,$b:1" -n 3 "$work/respawn" 2 agent
for who in root other; do
    check "a parent dies while children on other hosts meet it ($who)" 0 "a parent has gone on" on --with-ft --hosts "$hosts" -n 3 "$work/meetft" $who
done
for who in killed ends inside; do
    check "a child dies before its parents on other hosts meet it ($who)" 0 "a parent has gone on" \
        on --with-ft --hosts "$hosts" -n 3 "$work/meetft" $who
done
left=$(pgrep -f "$work/" | wc -l)
check "nothing is left" 0 "^0$" echo "$left"
sums
