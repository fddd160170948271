#!/bin/sh
# Another user of a host while a job over hosts starts. He listens where the agent looks for mpiexec first, as a bridge of
# containers has one address on every host. He reads, changes, cuts or repeats what goes there, answers wrongly or not at
# all, and holds connections to mpiexec. Nothing of the job may be seen or done by him; where there is another way, the job
# takes it. Under Hydra, which the system has or MPICH's package of PyPI, the same for keepers.
# Usage: tests/strangers/start.sh PREFIX
#   TERN_LAUNCHERS_DIR    where launchers from PyPI are installed, once [target/launchers]
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/strangers/between.sh"
. "$here/launchers/wheel.sh"

# What the agent is told by its standard input is kept, as root.
printf '#!/bin/sh\nsleep "${STRANGERS_WAIT:-0}"\ntee "%s" | exec "%s" "$@"\n' "$work/secret" "$work/shell" > "$work/tee"
chmod +x "$work/tee"
# Nobody reads it there.
: > "$work/secret" && chmod 600 "$work/secret"

# Hydra's words are for a shell.
cat > "$work/rsh" <<'END'
#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
END
chmod +x "$work/rsh"

# Under which launcher a job of two hosts runs: its agents, or keepers.
tern() {
    timeout --kill-after=5 60 "$work/shell" "$c" "$prefix/bin/mpiexec" --remote-shell "$work/tee" --hosts "$c,$b" -n 2 "$@"
}
hydra() {
    timeout --kill-after=5 60 "$work/shell" "$c" "$hydra" -launcher rsh -launcher-exec "$work/rsh" -localhost "$net.4" -hosts "$c,$b" -n 2 "$@"
}

# What runs.
program=$work/hello
# beside MODE LAUNCHER: a job while a stranger serves callers so.
beside() {
    # Splitting at blanks is meant.
    # shellcheck disable=SC2086
    stranger "$both" $port "$net.4" "$work/kept" $1
    went=0
    # shellcheck disable=SC2086
    rm -f "$work/now" && "$2" $program || went=$?
    away
    return $went
}
# The same, with the stranger in the middle: on a busy machine the agent may have found another way before he has answered.
between() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        went=0
        beside "$1" "$2" > "$work/said" 2>&1 || went=$?
        # What the agent says until it has proven itself.
        [ "$(stat -c %s "$work/kept/up" 2> /dev/null || echo 0)" -lt 68 ] || break
    done
    cat "$work/said"
    return $went
}
# A job that has been meddled with ends soon and with an error; no rank begins.
meddled() {
    between "$1" "$2" && return 99
    [ $went -ne 124 ] && ! grep -q "^sum" "$work/said"
}
good="^sum 1, $UNSEEN$"

check "a relay in the middle passes on" 0 "$good" between pass tern
check "a relay sees neither the secret nor the environment nor the program" 0 "seen \[\]" \
    python3 "$relay" seen "$work/kept" "$work/secret" "$UNSEEN" "$work/hello" "PATH=" "$prefix"
cp "$work/kept/down" "$work/old"
cp "$work/kept/up" "$work/old-up"
for mode in mute bye wrong echo old; do
    check "whoever answers first: $mode" 0 "$good" beside $mode tern
done
# In the first words of both, in the answer to the agent's proof; the length of what comes then, its contents, its end.
check "a change in the first words of the agent" 0 "$good" beside "change up 25 1" tern
check "a change in the first words of mpiexec" 0 "$good" beside "change down 20 128" tern
check "a change in the proof of the agent" 0 "$good" beside "change up 40 4" tern
check "a change in the length of the orders" 0 "lost the connection to mpiexec" meddled "change down 52 128" tern
check "a change in the orders" 0 "lost the connection to mpiexec" meddled "change down 300 1" tern
check "a change in what the agent says" 0 "the connection to host $b is lost" meddled "change up 75 1" tern
check "a cut in the orders" 0 "lost the connection to mpiexec" meddled "cut down 300" tern

# One record of the channel is altered while processes are spawned on the host of the agent: the order goes down, that they are
# started and where they are found goes up.
cat > "$work/spawn.c" <<'END'
#include <mpi.h>
#include <stdio.h>
// spawn NOW HOST: makes the file, and starts one process there.
int main(int argc, char **argv)
{
    MPI_Comm parent, others;
    MPI_Info info;
    int rank, one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (!rank) fclose(fopen(argv[1], "w"));
        MPI_Info_create(&info);
        MPI_Info_set(info, "host", argv[2]);
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF, &others, MPI_ERRCODES_IGNORE);
        MPI_Info_free(&info);
    } else {
        others = parent;
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others);
    if (parent == MPI_COMM_NULL && !rank) printf("sum %d\n", sum);
    MPI_Comm_disconnect(&others);
    MPI_Finalize();
    return 0;
}
END
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/spawn" "$work/spawn.c"
program="$work/spawn $work/now $b"
check "records pass while processes are spawned" 0 "^sum 1" between "record up pass /nowhere" tern
for how in flip repeat; do
    check "an order to spawn: $how" 0 "the connection to host $b is lost" meddled "record down $how $work/now" tern
done
for how in flip repeat drop swap; do
    check "what an agent says of processes that it spawns: $how" 0 "the connection to host $b is lost" \
        meddled "record up $how $work/now" tern
done
program=$work/hello

# What the agent of this job, and of an earlier one, has said is said once more while the job runs.
repeat() {
    stranger "$both" $port "$net.4" "$work/kept" pass
    "$work/shell" "$c" true
    tern "$work/hello" "$work/seen" &
    job=$!
    for _ in $(seq 200); do
        [ "$(stat -c %s "$work/kept/up" 2> /dev/null || echo 0)" -gt 200 ] && break
        sleep 0.05
    done
    went=0
    mkdir -p "$work/earlier" && cp "$work/old-up" "$work/earlier/up"
    for said in "$work/kept" "$work/earlier"; do
        ip netns exec "$b" python3 "$relay" again "$net.4" $port "$said" || went=98
    done
    : > "$work/seen"
    wait $job || went=$?
    away
    return $went
}
check "what an agent has said is said once more" 0 "$good" repeat

# crowded LAUNCHER: many silent connections from the host of an agent, while shells take their time.
crowded() {
    stranger crowd "$1" "$net.4:$port"
    went=0
    STRANGERS_WAIT=1 "$2" "$work/hello" || went=$?
    away
    return $went
}
check "70 silent connections keep no agent out" 0 "$good" crowded 70 tern
check "1000 silent connections keep no agent out" 0 "$good" crowded 1000 tern

if hydra=$(command -v mpiexec.hydra) || { wheel mpich && hydra=$bin/mpiexec.hydra; }; then
    check "keepers: a relay in the middle passes on" 0 "$good" between pass hydra
    for mode in mute bye wrong echo old "change down 20 128"; do
        check "keepers: whoever answers first: $mode" 0 "$good" beside "$mode" hydra
    done
    check "keepers: a change in what they say" 0 "" meddled "change up 75 1" hydra
    check "keepers: silent connections keep none out" 0 "$good" crowded 400 hydra
else
    skip "keepers" "mpiexec.hydra is not there, nor can pip get it: $(tail -n 1 "$evidence" | cut -c 1-200)"
fi
left=$(pgrep -f "$work/" | wc -l)
check "nothing is left" 0 "^0$" echo "$left"
sums
