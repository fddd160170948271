#!/bin/sh
# The times of the parts of a test run, beside those of the run before, which a file keeps. Each line of both files is seconds, seconds of the
# processors, and the name of a part.
# Usage: scripts/test-times.sh KEPT NOW     shows NOW with the differences to KEPT, and puts what is new into KEPT
set -eu

kept=$1 now=$2
[ -e "$now" ] || exit 0
mkdir -p "$(dirname "$kept")"
touch "$kept"
printf '\n%8s %8s %8s %8s  %s\n' seconds 'of cpu' than\ last 'of cpu' part
awk -v kept="$kept.new" '
    { seconds = $1; cpu = $2; part = $0; sub(/^ *[^ ]+ +[^ ]+ +/, "", part) }
    FILENAME == ARGV[1] { last[part] = 1; last_seconds[part] = seconds; last_cpu[part] = cpu; next }
    part in last { printf "%8d %8d %+8d %+8d  %s\n", seconds, cpu, seconds - last_seconds[part], cpu - last_cpu[part], part }
    !(part in last) { printf "%8d %8d %8s %8s  %s\n", seconds, cpu, "new", "", part }
    { last[part] = 1; last_seconds[part] = seconds; last_cpu[part] = cpu; sum += seconds; of_cpu += cpu }
    END {
        # A part that did not run this time keeps what it took.
        for (part in last) printf "%d %d %s\n", last_seconds[part], last_cpu[part], part > kept
        close(kept)
        printf "%8d %8d %8s %8s  %s\n", sum, of_cpu, "", "", "all parts, some of them beside others"
    }' "$kept" "$now"
[ ! -e "$kept.new" ] || mv "$kept.new" "$kept"
