#!/bin/sh
# DMTCP takes a checkpoint of a job on one node, by an ordinary user; the job is killed, started again from the checkpoint, and ends as it should.
# MANA does the same, for jobs over shared memory and over TCP.
# Usage: tests/checkpoint-test.sh PREFIX
#   TERN_MANA  a built tree of MANA (docs/checkpoints.md), whose lower half is linked with the Tern of PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
mana=${TERN_MANA:-}
unset TERN_MANA

# Root may make any file anew, so nothing would be seen of TERN_SHARED_FILES.
user=
if [ "$(id -u)" -eq 0 ]; then
    user="setpriv --reuid=65534 --regid=65534 --clear-groups"
    chown -R 65534 "$place"
fi
export HOME="$place" DMTCP_GZIP=0

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

# images PATTERN: all processes have their files of the checkpoint, in $work. DMTCP 4.2's command does not wait for that.
images() {
    # shellcheck disable=SC2086
    [ "$(cd "$work" && ls $1 | wc -l)" -eq "$ranks" ]
}

# judges: the job that was started again has gone on from a later step, and all its numbers are right. Its exit code is in `code`.
judges() {
    began=$(sed -n 's/^step //p' "$work/second" | head -n 1)
    if [ "$code" -eq 0 ] && [ "${began:-0}" -gt 5 ] && grep -q '^done: .* steps, 0 wrong$' "$work/second"; then
        ok "$what"
    else
        fail "$what" "exit code $code, first step ${began:-none}"
    fi
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
    comes 60 images 'ckpt_*.dmtcp' || true
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
    judges
}

# What DMTCP needs, or a line that says what is missing.
by_dmtcp() {
    for command in dmtcp_coordinator dmtcp_launch dmtcp_command dmtcp_restart bash; do
        if ! command -v $command > /dev/null; then
            skip "checkpoints of DMTCP" "$command is not installed"
            return 0
        fi
    done
    # shellcheck disable=SC2086
    if ! $user test -x "$prefix/bin/mpiexec" -a -x "$(command -v dmtcp_launch)" 2> /dev/null; then
        skip "checkpoints of DMTCP" "the user nobody cannot run $prefix/bin/mpiexec or dmtcp_launch"
        return 0
    fi
    "$prefix/bin/mpicc" -O1 -o "$place/steps" "$here/checkpoint/steps.c"
    export TERN_SHARED_FILES=/dev/shm
    restarts 1 env
    restarts 2 "$prefix/bin/mpiexec" -n 2
    restarts 4 "$prefix/bin/mpiexec" -n 4
    unset TERN_SHARED_FILES DMTCP_CHECKPOINT_DIR DMTCP_TMPDIR DMTCP_COORD_HOST DMTCP_COORD_PORT
}

# coordinates: a coordinator of MANA, whose place is in $HOME/.mana.rc.
coordinates() {
    rm -f "$HOME/.mana.rc"
    alone "$mana/bin/mana_coordinator" -p 0 >> "$work/coordinator" 2>&1
    at="-h $(sed -n 's/^Host: *\([^ ]*\).*/\1/p' "$HOME/.mana.rc") -p $(sed -n 's/^Port: *//p' "$HOME/.mana.rc")"
}

# commands WHAT: asks the coordinator of MANA for something.
commands() {
    # shellcheck disable=SC2086
    alone timeout -s KILL 60 "$mana/bin/dmtcp_command" $at "$1" >> "$work/command" 2>&1 || true
}

# mana_restarts RANKS ARGUMENT...: the same by MANA, with a new library and a new mpiexec; arguments of mpiexec.
mana_restarts() {
    ranks=$1
    shift
    work=$place/mana$ranks$# what="checkpoint and restart by MANA, ranks: $ranks${*:+, $*}"
    set -- "$prefix/bin/mpiexec" -n "$ranks" -x HYDI_CONTROL_FD=0 "$@"
    # shellcheck disable=SC2086
    $user mkdir -p "$work/tmp"
    evidence=$work/said
    export HOME="$work" DMTCP_TMPDIR="$work/tmp" PATH="$mana/bin:$old_path"
    cd "$work"
    coordinates
    alone timeout -s KILL 120 "$@" "$mana/bin/mana_launch" "$place/upper" "$work/end" > "$work/first" 2> "$work/said" &
    first=$!
    if comes 60 grep -q '^step 5$' "$work/first"; then
        # On a busy machine MANA does not take each one that it is asked for.
        for again in 1 2 3; do
            commands --checkpoint
            ! comes 30 images 'ckpt_rank_*/ckpt_*.dmtcp' || break
            echo "no checkpoint after request $again" >> "$work/command"
        done
        commands --kill
        wait $first || true
        coordinates
        alone timeout -s KILL 120 "$@" "$mana/bin/mana_restart" > "$work/second" 2> "$work/said" &
        second=$!
        comes 60 grep -q '^step ' "$work/second" || true
        # shellcheck disable=SC2086
        $user touch "$work/end"
        code=0
        wait $second || code=$?
        judges
    else
        fail "$what" "the program does not run under mana_launch"
        commands --kill
        wait $first || true
    fi
    commands --kill
    cd "$place"
    export HOME="$place" PATH="$old_path"
}

# What MANA needs, or a line that says what is missing.
by_mana() {
    label="checkpoints of MANA"
    if [ -z "$mana" ]; then
        skip "$label" "TERN_MANA names no built tree"
        return 0
    fi
    for command in mana_coordinator mana_launch mana_restart lower-half dmtcp_command; do
        # shellcheck disable=SC2086
        if ! $user test -x "$mana/bin/$command"; then
            skip "$label" "$mana/bin/$command is not there, or this user cannot run it"
            return 0
        fi
    done
    linked=$(ldd "$mana/bin/lower-half" | sed -n 's/^[[:space:]]*libmpi_abi.so.1 => \([^ ]*\) .*/\1/p')
    if [ -z "$linked" ] || ldd "$mana/bin/lower-half" | grep -q 'libmpi.so.12'; then
        skip "$label" "its lower half is not linked with libmpi_abi.so.1"
        return 0
    elif [ "$(realpath "$linked")" != "$(realpath "$prefix/lib/libmpi_abi.so.1")" ]; then
        skip "$label" "its lower half is linked with $linked, and not with that of $prefix"
        return 0
    fi
    "${CC:-cc}" -O1 -DWITHOUT_WINDOW -I"$prefix/include" -o "$place/upper" "$here/checkpoint/steps.c" -L"$mana/lib/dmtcp" -lmpistub
    old_path=$PATH
    mana_restarts 2
    mana_restarts 4
    mana_restarts 2 --nodes 2 -x TERN_NETWORK=tcp
}

by_dmtcp
by_mana

sums
