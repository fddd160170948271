#!/bin/sh
# What tests/arm64-guest.sh runs inside the machine. All programs have been compiled.
# Usage: arm64.sh FORTRAN NAME...     FORTRAN: programs in Fortran, a word for all; NAME: those of tests/c
set -u

here=$(cd "$(dirname "$0")/.." && pwd)
prefix=/usr/lib/aarch64-linux-gnu/tern
fortran=$1
shift
. "$here/common.sh"
make_place
# Two processors at most, emulated: all takes ten times as long and more.
export TERN_TEST_STEP=run TERN_TEST_DIR=/tern/programs TERN_TEST_PATIENCE=10

# Of what Tern uses and qemu-user does not have, tern-info says that the kernel has it. Promotion came with Linux 6.11.
mechanisms="shared.memory CMA futex membarrier pidfd"
case $(uname -r) in
    6.[0-9].* | 6.10.*) ;;
    *) mechanisms="$mechanisms promotion" ;;
esac
echo "Linux $(uname -r), pages of $(awk '/^KernelPageSize/ { print $2; exit }' /proc/self/smaps) KiB"
"$prefix/bin/tern-info" > "$place/info" 2>&1
for mechanism in $mechanisms; do
    if grep -q "^$mechanism  *yes" "$place/info"; then
        ok "tern-info: $mechanism"
    else
        evidence=$place/info
        fail "tern-info: $mechanism"
    fi
done
grep -E '^(processor|page|promotion) ' "$place/info"

for binary in /tern/crates/*; do
    [ -e "$binary" ] || continue
    evidence=$place/log
    if (cd /tern && timeout 900 "$binary" --test-threads 2) > "$place/log" 2>&1; then
        ok "${binary##*/}: $(sed -n 's/^test result: ok. //p' "$place/log" | head -n 1)"
    else
        fail "${binary##*/}"
        grep -E '^(test .*FAILED|test result)' "$place/log"
    fi
done

for program in $fortran; do
    evidence=$place/log
    if timeout 300 "$prefix/bin/mpiexec" -n 2 "/tern/programs/$program" > "$place/log" 2>&1; then
        ok "$program, 2 ranks"
    else
        fail "$program"
    fi
done

# runs NAME...: all of it is shown, as a slow machine may be stopped.
runs() {
    "$here/run.sh" "$prefix" "$@" 2>&1 | tee "$place/said" | awk '!/^[0-9]+ passed, / { print; fflush() }'
    add
}
# Long messages by one way and no other: a line of Tern's own would say that another one was taken.
for way in TERN_MECHANISM=cma TERN_MECHANISM=mapped TERN_PROMOTE=always; do
    echo "-- $way"
    export "${way?}" TERN_TEST_WARNINGS=0
    runs p2p_modes p2p_published coll_region rma_put_get
    unset "${way%=*}" TERN_TEST_WARNINGS
done
echo "-- all"
runs "$@"
sums
