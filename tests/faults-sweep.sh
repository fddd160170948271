#!/bin/bash
# The long form of faults-test.sh, which is no part of the tests: connections are cut after 1 to 250 messages, in every kind
# of traffic, by 2 and 4 ranks on 2 nodes, over RC and XRC, without and with errors returned. Takes hours; spread over the
# range, so that it may be ended at any time. Each run prints one line; "ok" is its first word when all was as it should be.
# Usage: tests/faults-sweep.sh PREFIX [JOBS AT A TIME]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX [JOBS]"}" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
"$prefix/bin/mpicc" -O1 -o "$place/traffic" "$here/faults/traffic.c"
"$prefix/bin/mpicc" -O1 -o "$place/collectives" "$here/faults/collectives.c"

# run TRANSPORT RANKS CUT PROGRAM [WAY [return]]
run() {
    transport=$1 ranks=$2 cut=$3 program=$4
    shift 4
    said=$(mktemp "$place/said-XXXXXX")
    code=0
    TERN_NETWORK=software TERN_VERBS_TRANSPORT=$transport TERN_FAULTS=cut-after=$cut timeout --kill-after=5 60 \
        "$prefix/bin/mpiexec" --nodes 2 -n "$ranks" "$place/$program" "$@" < /dev/null > "$said" 2>&1 || code=$?
    verdict=ok
    if [ "$code" -ge 124 ]; then verdict=hangs-or-dies
    elif [ "$code" -eq 3 ]; then verdict=wrong-data
    elif grep -q ': another$' "$said"; then verdict=another-error
    elif [ "$code" -ne 0 ] && { [ "$program" = collectives ] || [ "${2:-}" = return ]; }; then verdict=ended
    elif [ "$code" -ne 0 ] && ! grep -q 'cannot be reached any more: .' "$said"; then verdict=unnamed
    fi
    echo "$verdict: $program $*, $ranks ranks, $transport, cut-after=$cut: exit code $code"
    [ "$verdict" = ok ] || sed 's/^/    /' "$said"
    rm -f "$said"
}
export -f run
export prefix place

for offset in 1 6 3 8 2 5 9 4 7 10; do
    for base in $(seq 0 10 240); do
        for transport in rc xrc; do
            for ranks in 2 4; do
                for way in eager long onesided passive collective making; do
                    echo "run $transport $ranks $((base + offset)) traffic $way"
                    echo "run $transport $ranks $((base + offset)) traffic $way return"
                done
            done
            echo "run $transport 4 $((base + offset)) collectives"
        done
    done
done | xargs -P "${2:-2}" -d '\n' -I '{}' bash -c '{}'
