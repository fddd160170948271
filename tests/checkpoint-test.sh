#!/bin/sh
# DMTCP takes a checkpoint of a job on one node, by an ordinary user; the job is killed, started again from the checkpoint, and ends as it should.
# Usage: tests/checkpoint-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

for command in dmtcp_coordinator dmtcp_launch dmtcp_command dmtcp_restart bash; do
    if ! command -v $command > /dev/null; then
        skip "checkpoints of DMTCP" "$command is not installed"
        sums
        exit
    fi
done

"$prefix/bin/mpicc" -O1 -o "$place/steps" "$here/checkpoint/steps.c"
# Root may make any file anew, so nothing would be seen of TERN_SHARED_FILES.
user=
if [ "$(id -u)" -eq 0 ]; then
    user="setpriv --reuid=65534 --regid=65534 --clear-groups"
    chown -R 65534 "$place"
    if ! $user test -x "$prefix/bin/mpiexec" -a -x "$(command -v dmtcp_launch)" 2> /dev/null; then
        skip "checkpoints of DMTCP" "the user nobody cannot run $prefix/bin/mpiexec or dmtcp_launch"
        sums
        exit
    fi
fi
export HOME="$place" DMTCP_GZIP=0 TERN_SHARED_FILES=/dev/shm

# alone COMMAND...: without descriptors of whoever runs the tests: DMTCP waits for ever for a pipe that two processes have inherited.
alone() {
    # shellcheck disable=SC2016,SC2086
    $user bash -c 'for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done; exec "$@"' _ "$@" < /dev/null
}

# comes SECONDS CONDITION...: waits until it holds.
comes() {
    left=$(($1 * 10))
    shift
    until "$@" 2> /dev/null; do
        [ $left -gt 0 ] || return 1
        left=$((left - 1))
        sleep 0.1
    done
}

# images: all processes have their files of the checkpoint. DMTCP 4.2's command does not wait for that.
images() {
    [ "$(ls "$work"/ckpt_*.dmtcp | wc -l)" -eq "$ranks" ]
}

# restarts RANKS COMMAND...: the command starts so many ranks, and their job takes up its steps where the checkpoint was taken.
restarts() {
    ranks=$1
    shift
    work=$place/$ranks what="checkpoint and restart, ranks: $ranks"
    # shellcheck disable=SC2086
    $user mkdir -p "$work/tmp"
    evidence=$work/said
    export DMTCP_CHECKPOINT_DIR="$work" DMTCP_TMPDIR="$work/tmp" DMTCP_COORD_HOST=127.0.0.1
    alone dmtcp_coordinator --daemon --coord-port 0 --port-file "$work/port" --exit-on-last > "$work/coordinator" 2>&1
    DMTCP_COORD_PORT=$(cat "$work/port")
    export DMTCP_COORD_PORT
    alone timeout -s KILL 120 "$@" dmtcp_launch -j "$place/steps" "$work/end" > "$work/first" 2> "$work/said" &
    first=$!
    if ! comes 60 grep -q '^step 5$' "$work/first"; then
        fail "$what" "the program does not run under dmtcp_launch"
        alone dmtcp_command --kill > /dev/null 2>&1 || true
        wait $first || true
        return 0
    fi
    alone timeout 60 dmtcp_command --bcheckpoint > "$work/command" 2>&1 || true
    comes 60 images || true
    alone timeout 60 dmtcp_command --kill >> "$work/command" 2>&1 || true
    wait $first || true
    alone timeout -s KILL 120 dmtcp_restart --new-coordinator --coord-port 0 --port-file "$work/again" "$work"/ckpt_*.dmtcp \
        > "$work/second" 2> "$work/said" &
    second=$!
    comes 60 grep -q '^step ' "$work/second" || true
    # shellcheck disable=SC2086
    $user touch "$work/end"
    code=0
    wait $second || code=$?
    [ ! -s "$work/again" ] || alone timeout 10 dmtcp_command --coord-port "$(cat "$work/again")" --kill > /dev/null 2>&1 || true
    began=$(sed -n 's/^step //p' "$work/second" | head -n 1)
    if [ "$code" -eq 0 ] && [ "${began:-0}" -gt 5 ] && grep -q '^done: .* steps, 0 wrong$' "$work/second"; then
        ok "$what"
    else
        fail "$what" "exit code $code, first step ${began:-none}"
    fi
}

restarts 1 env
restarts 2 "$prefix/bin/mpiexec" -n 2
restarts 4 "$prefix/bin/mpiexec" -n 4

sums
