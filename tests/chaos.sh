#!/bin/bash
# Goes on under chaos with one new seed after the other: C programs of tests/c and tests/ft, each on one node, on simulated ones, over TCP, the software
# card or libfabric. What fails is told with the command that brings it about again.
# Usage: tests/chaos.sh PREFIX [SECONDS]     for example: tests/chaos.sh target/prefix 3600
#   TERN_TEST_SEED  the first seed [the time]
#   TERN_NPB        a folder with programs of the NAS Parallel Benchmarks of class S, as cg.S.x; each runs on 4 ranks
#   TERN_ULFM       a folder with the sources of ICLDisco/ulfm-testing; what of it runs as it should without chaos runs with it
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [SECONDS]"}" && pwd)
seconds=${2:-3600}
. "$here/common.sh"
make_place
# Tern would say of these that they are no settings of its own.
npb=${TERN_NPB:-} ulfm=${TERN_ULFM:-}
unset TERN_NPB TERN_ULFM
seed=${TERN_TEST_SEED:-$(date +%s)}
# What mpiexec runs, one command in each place: `RANKS OPTIONS | PROGRAM ARGUMENTS`, where SEED stands for the seed. Exit codes are in `codes`.
jobs=() codes=()
add_job() { jobs+=("$1"); codes+=("${2:-0}"); }

"$prefix/bin/mpicc" -std=gnu11 -O1 -o "$place/kills" "$here/ft/kills.c"
for ranks in 4 7; do
    add_job "-n $ranks --with-ft -x TERN_CHAOS=CHAOS,kill=1/3@1500 | $place/kills SEED 0"
    add_job "-n $ranks --with-ft -x TERN_CHAOS=CHAOS,kill=1/2@300 | $place/kills SEED 0"
done
for name in memory_random rma_random; do
    "$prefix/bin/mpicc" -std=gnu11 -O1 -I"$here/c" "$here/c/$name.c" -o "$place/$name" -pthread -lm
    add_job "-n 3 -x TERN_CHAOS=CHAOS | $place/$name 60 SEED"
done
# Programs that look at what Tern has counted are left out: with chaos other ways are taken, and over TCP nothing is published.
for source in "$here"/c/p2p_*.c "$here"/c/coll_*.c "$here"/c/rma_*.c "$here"/c/comm_*.c; do
    name=${source##*/}
    name=${name%.c}
    # Its target makes no call, which needs a card.
    [ "$name" != rma_computing ] || continue
    grep -qE '^// (expect-|needs|mpiexec|nodes)|"(counter|sides)\.h"|MPI_T_pvar|by_itself|statm' "$source" && continue
    flags=$(sed -n '1,20s|^// flags: *||p' "$source")
    ranks=$(sed -n '1,20s|^// ranks: *||p' "$source" | tr ' ' '\n' | awk '$1 <= 6' | tail -n 1)
    # shellcheck disable=SC2086
    "$prefix/bin/mpicc" -std=gnu11 -O1 -g "$source" -o "$place/$name" $flags 2> /dev/null || { skip "$name" "does not compile"; continue; }
    add_job "-n ${ranks:-2} -x TERN_CHAOS=CHAOS | $place/$name"
done
if [ -n "$npb" ]; then
    for program in "$npb"/*.S.*; do add_job "-n 4 -x TERN_CHAOS=CHAOS | $program"; done
else
    skip "NAS Parallel Benchmarks" "TERN_NPB names no folder"
fi
if [ -n "$ulfm" ]; then
    for source in "$ulfm"/*/*.c "$ulfm"/*.c; do
        [ -e "$source" ] || continue
        name=ulfm-$(basename "${source%.c}")
        if [ "$name" = ulfm-revshrinkkillrecover ]; then
            skip "$name" "replaces what it has lost without end: make check-ulfm runs it"
            continue
        fi
        "$prefix/bin/mpicc" -O1 "$source" -o "$place/$name" -lm 2> /dev/null || { skip "$name" "does not compile by itself"; continue; }
        code=0
        within 60 "$prefix/bin/mpiexec" --with-ft -n 4 "$place/$name" < /dev/null > "$place/said" 2>&1 || code=$?
        if has_hung "$place/said"; then
            skip "$name" "does not end within a minute without chaos"
        elif [ "$code" -ne 0 ] && ! has_lost_all "$code" "$place/said"; then
            skip "$name" "ends with exit code $code without chaos, by which nothing can be told"
        elif is_harmed "$place/said"; then
            skip "$name" "is ended by a signal without chaos"
        else
            add_job "-n 4 --with-ft -x TERN_CHAOS=CHAOS | $place/$name" "$code"
        fi
    done
else
    skip "ulfm-testing" "TERN_ULFM names no folder"
fi

ways=("" "" "--nodes 2" "--nodes 2 -x TERN_NETWORK=tcp" "-x TERN_PROMOTE=always" "-x TERN_COLL_LINES=off" "--nodes 2 -x TERN_VERBS_TRANSPORT=xrc")
if "$prefix/bin/tern-info" networks | grep -q "tcp;ofi_rxm"; then
    ways+=("--nodes 2 -x TERN_NETWORK=ofi -x TERN_OFI_PROVIDER=tcp;ofi_rxm -x TERN_INTERFACE=lo")
fi
chaos=("" ",refuse=1/2" ",reorder=1/2" ",delay=1ms" ",delay=0,reorder=1/3,refuse=1/3")
evidence=$place/said
end=$(($(date +%s) + seconds))
echo "${#jobs[@]} programs, ${#ways[@]} ways; the first seed is $((seed + 1))"
while [ "$(date +%s)" -lt "$end" ]; do
    seed=$((seed + 1))
    # All of it follows from the seed.
    RANDOM=$((seed % 32768))
    at=$((RANDOM % ${#jobs[@]})) way=${ways[RANDOM % ${#ways[@]}]} harm=$seed${chaos[RANDOM % ${#chaos[@]}]}
    job=${jobs[at]//SEED/$seed}
    job=${job/CHAOS,/$harm,} job=${job/=CHAOS/=$harm}
    code=0
    # shellcheck disable=SC2086
    set -- $way ${job%% | *} ${job#* | }
    within 300 "$prefix/bin/mpiexec" "$@" < /dev/null > "$place/said" 2>&1 || code=$?
    # Programs of NPB end well also where their results are wrong.
    if has_hung "$place/said"; then
        fail "mpiexec $*" "does not end within 300 s"
    elif grep -q UNSUCCESSFUL "$place/said"; then
        fail "mpiexec $*" "its results are wrong"
    elif is_harmed "$place/said"; then
        fail "mpiexec $*" "a rank was ended by a signal"
    elif [ "$code" -eq "${codes[at]}" ]; then
        passed=$((passed + 1))
    elif grep -q -- '--with-ft' <<< "$job" && has_lost_all "$code" "$place/said"; then
        passed=$((passed + 1))
    elif grep -q '^skipped: ' "$place/said"; then
        skipped=$((skipped + 1))
    else
        fail "mpiexec $*" "exit code $code"
    fi
done
sums
