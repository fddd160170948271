#!/bin/sh
# Dynamic processes on several hosts, which are network namespaces of this machine, as in hosts-test.sh: spawn, ports, names, join,
# and the death of a process of another job. Skipped, aloud, where namespaces cannot be made.
# Usage: tests/dynamic-hosts-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
work=$(mktemp -d)
name=terndyn$$
net=10.$((150 + $$ % 50)).$(($$ / 50 % 250))
passed=0 failed=0

remove() {
    trap - EXIT INT TERM
    for host in a b c; do ip netns del "$name$host" 2> /dev/null || true; done
    ip link del "$name" 2> /dev/null || true
    rm -rf "$work"
}
trap remove EXIT
trap 'remove; exit 1' INT TERM

make() {
    ip link add "$name" type bridge && ip addr add "$net.1/24" dev "$name" && ip link set "$name" up || return 1
    last=1
    for host in a b c; do
        last=$((last + 1))
        ip netns add "$name$host" &&
            ip link add "$name$host" type veth peer name eth0 netns "$name$host" &&
            ip link set "$name$host" master "$name" up &&
            ip -n "$name$host" addr add "$net.$last/24" dev eth0 &&
            ip -n "$name$host" link set eth0 up &&
            ip -n "$name$host" link set lo up || return 1
    done
}
if ! make 2> "$work/why"; then
    echo "SKIP: this user cannot make network namespaces: $(head -n 1 "$work/why")"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

hosts=${name}a,${name}b,${name}c
# Each has a name of its own, too.
cat > "$work/shell" <<'END'
#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$host" "$@"
END
chmod +x "$work/shell"
on() { timeout --kill-after=5 100 "$prefix/bin/mpiexec" --remote-shell "$work/shell" "$@"; }

# check WHAT CODE PATTERN COMMAND...: the exit code, and what a line of the output matches.
check() {
    what=$1 wanted=$2 pattern=$3
    shift 3
    code=0
    "$@" > "$work/log" 2>&1 || code=$?
    if [ "$code" = "$wanted" ] && { [ -z "$pattern" ] || grep -q -e "$pattern" "$work/log"; }; then
        passed=$((passed + 1))
        echo "ok   $what"
    else
        failed=$((failed + 1))
        echo "FAIL $what: exit code $code, expected $wanted, and a line with: $pattern"
        tail -n 15 "$work/log" | cut -c 1-300 | sed 's/^/    /'
    fi
}


"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/meet" "$here/dynamic/meet.c"
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

check "spawn goes to all hosts" 0 "^child [0-3] is on $c" on --hosts "$hosts" -n 3 "$work/meet" spawn 4
check "parents and children of three hosts meet" 0 "^7 processes have met" on --hosts "$hosts" -n 3 "$work/meet" spawn 4
check "spawn goes where room is" 0 "^child 1 is on $b" on --hosts "$a:1,$b:3" -n 2 "$work/meet" spawn 2
check "spawn on a host that is named" 0 "^child 0 is on $b" on --hosts "$a,$b" -n 2 "$work/meet" spawn 1 "$b"
check "spawn from one host to another" 0 "^3 processes have met" on --hosts "$a,$b" -n 2 "$work/meet" spawn 1 "$b"
check "a host without processes of the job" 0 "^not spawned: MPI_ERR_SPAWN" \
    on --hosts "$a,$b" -n 2 "$work/meet" spawn 1 nobody
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
left=$(pgrep -f "$work/" | wc -l)
check "nothing is left" 0 "^0$" echo "$left"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
