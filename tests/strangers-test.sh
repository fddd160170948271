#!/bin/bash
# Strangers at every socket on which a job listens: random bytes, and first messages of another job, as they were or
# changed. The job must end with the right answer. Skipped, aloud, where no network namespace can be made.
# Another user is at each abstract Unix socket of such a job, too. Then another user beside agents and keepers that start
# (strangers/start.sh), at the ports of ranks (strangers/ports.sh), and between ranks (strangers/ranks.sh).
# Usage: tests/strangers-test.sh PREFIX [COUNT]
#   COUNT   random messages, and changed ones, for each socket [300]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [COUNT]"}" && pwd)
. "$here/common.sh"
count=${2:-300}
if [ -z "${TERN_TEST_APART:-}" ]; then
    if ! unshare --net true 2> /dev/null; then
        echo "SKIP: this user cannot make network namespaces"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
    code=0
    TERN_TEST_APART=1 unshare --net "$0" "$prefix" "$count" || code=1
    "$here/strangers/start.sh" "$prefix" || code=1
    "$here/strangers/ports.sh" "$prefix" || code=1
    "$here/strangers/ranks.sh" "$prefix" || code=1
    exit $code
fi
work=$(mktemp -d)
evidence=$work/log
trap 'kill $(jobs -p) 2> /dev/null || true; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

ip link set lo up
ip link add dummy0 type dummy && ip addr add 10.98.0.1/24 dev dummy0 && ip link set dummy0 up
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/exchange" "$here/network/exchange.c"
# A host that is this machine, but is spoken to as any other.
printf '#!/bin/sh\nshift\nexec "$@"\n' > "$work/shell"
chmod +x "$work/shell"

# attack NAME MPIEXEC'S-ARGUMENTS...
attack() {
    local name=$1 code=0
    shift
    rm -f "$work/stop" "$work/log"
    timeout 100 python3 "$here/strangers/attack.py" record "$work/messages" \
        "$prefix/bin/mpiexec" "$@" -n 4 "$work/exchange" 20 > "$work/log" 2>&1 || code=$?
    if [ $code != 0 ]; then fail "$name: a job by itself: exit code $code"; return; fi
    # What that job has said would be taken for what this one says.
    : > "$work/log"
    timeout $((100 + count / 50)) "$prefix/bin/mpiexec" "$@" -n 4 "$work/exchange" 0 1000 "$work/stop" > "$work/log" 2>&1 &
    job=$!
    for _ in $(seq 300); do
        grep -q '^begun' "$work/log" && break
        sleep 0.1
    done
    if ! python3 "$here/strangers/attack.py" attack "$work/messages" "$count" 1 > "$work/attack" 2>&1; then
        cat "$work/attack" >> "$work/log"
        fail "$name: the attack could not be made"
    fi
    sed 's/^/     /' "$work/attack"
    code=0
    python3 "$here/strangers/attack.py" other "$work/messages" > "$work/other" 2>&1 || code=$?
    case $code in
    0) ok "$name: $(cat "$work/other")" ;;
    77) skip "$name: another user at its Unix sockets" "$(cat "$work/other")" ;;
    *) fail "$name: another user at its Unix sockets" "$(tail -n 1 "$work/other")" ;;
    esac
    : > "$work/stop"
    code=0
    wait $job || code=$?
    if [ $code = 0 ] && grep -q '^0 rounds, sum 6$' "$work/log" && [ "$(wc -l < "$work/log")" = 2 ]; then
        ok "$name: the job ends with the right answer, and says nothing else"
    else
        fail "$name: exit code $code"
    fi
}

# A job that has a port open and a name published, and another user at its sockets, or at the address of a name before it.
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/meet" "$here/dynamic/meet.c"
cat > "$work/ask.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Init(&argc, &argv);
    MPI_Lookup_name(argv[1], MPI_INFO_NULL, port);
    MPI_Finalize();
    return 0;
}
END
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/ask" "$work/ask.c"
names() {
    local service="a name of $$" code=0
    timeout 60 "$prefix/bin/mpiexec" -n 1 "$work/meet" accept "$service" > "$work/log" 2>&1 &
    job=$!
    for _ in $(seq 300); do
        grep -q "@tern-name-" /proc/net/unix && break
        sleep 0.1
    done
    name=$(sed -n 's/.*@\(tern-name-.*\)/\1/p' /proc/net/unix | head -n 1)
    python3 "$here/strangers/attack.py" other "$work/none" > "$work/other" 2>&1 || code=$?
    case $code in
    0) ok "a port and a name: $(cat "$work/other")" ;;
    77) skip "a port and a name: another user at their sockets" "$(cat "$work/other")" ;;
    *) fail "a port and a name: another user at their sockets" "$(tail -n 1 "$work/other")" ;;
    esac
    if timeout 60 "$prefix/bin/mpiexec" -n 1 "$work/meet" connect "$service" > "$work/log" 2>&1 && wait $job; then
        ok "a port and a name: the jobs meet"
    else
        kill $job 2> /dev/null || true
        fail "a port and a name: the jobs do not meet"
    fi
    [ "$code" != 77 ] || return 0
    : > "$work/told"
    python3 "$here/strangers/attack.py" hold "$name" > "$work/told" 2>&1 &
    holds=$!
    for _ in $(seq 100); do
        grep -q ready "$work/told" && break
        sleep 0.1
    done
    for way in "meet accept" ask; do
        code=0
        # Splitting at blanks is meant.
        # shellcheck disable=SC2086
        timeout 60 "$prefix/bin/mpiexec" -n 1 "$work"/$way "$service" > "$work/log" 2>&1 || code=$?
        if [ $code != 0 ] && [ $code != 124 ] && grep -qE "MPI_(Publish|Lookup)_name failed" "$work/log" && grep -q "another user" "$work/log"; then
            ok "a name that another user holds: $way"
        else
            fail "a name that another user holds: $way" "exit code $code"
        fi
    done
    kill $holds
    if [ "$(cat "$work/told")" = ready ]; then
        ok "a name that another user holds: he is told nothing"
    else
        fail "a name that another user holds: he is told something" "$(tail -n 1 "$work/told")"
    fi
}
names

attack "two hosts, TCP" -x TERN_NETWORK=tcp --remote-shell "$work/shell" --hosts hosta,hostb
attack "two hosts, software card" -x TERN_NETWORK=software --remote-shell "$work/shell" --hosts hosta,hostb
attack "two simulated nodes" --nodes 2
attack "one node"
sums
