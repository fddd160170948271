#!/bin/sh
# How tests judge jobs that lose ranks (`within`, `has_hung`, `is_harmed` and `has_lost_all` in common.sh): only a job whose ranks were all killed has lost
# all; one that hangs has not, nor one that a rank has ended.
# Usage: tests/judge-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place
said=$place/said
evidence=$said
"$prefix/bin/mpicc" -std=gnu11 -O1 -o "$place/departs" "$here/ft/departs.c"

# judged WANTED LABEL: what is said of the exit code in `code` and of the lines in $said.
judged() {
    found=no
    if has_hung "$said"; then
        found=hung
    elif is_harmed "$said"; then
        found=harmed
    elif has_lost_all "$code" "$said"; then
        found=lost
    elif [ "$code" -eq 0 ]; then
        found=well
    fi
    if [ "$found" = "$1" ]; then ok "$2: $1"; else fail "$2: $1" "$found, exit code $code"; fi
}

# job WANTED HOW...: a job of as many ranks.
job() {
    wanted=$1
    shift
    code=0
    within 60 "$prefix/bin/mpiexec" --with-ft -n $# "$place/departs" "$@" < /dev/null > "$said" 2>&1 || code=$?
    judged "$wanted" "$*"
}

job well well well
job well well killed
job lost killed killed killed
# Two leave at once, and the launcher may see the one or the other first.
for at in 1 2 3; do
    for how in returns leaves aborts; do job no killed $how; done
    job harmed killed faults
done

# stopped SHELL_COMMAND: it does not end by itself.
stopped() {
    code=0
    patience=1 within 1 sh -c "$1" > "$said" 2>&1 || code=$?
    judged hung "$1"
}
killed="mpiexec: rank 0 (process 7 on here) was killed by signal 9 (SIGKILL)"
stopped "exec sleep 60"
stopped "printf 'no end of line'; exec sleep 60"
stopped "trap '' TERM; echo '$killed'; while :; do sleep 1; done"

code=137
: > "$said"
judged no "137 and nothing said"
echo "$killed" > "$said"
judged lost "137 and a rank that was killed"
code=1
judged no "another exit code"
sums
