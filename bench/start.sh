#!/bin/sh
# How long a job on many simulated hosts takes from its start to its end: Tern's mpiexec beside Hydra, in turns. The
# command that would start an agent on a host runs it here instead. The machine should do nothing else.
# Usage: bench/start.sh PREFIX HYDRA [HOSTS [RANKS [ROUNDS]]]
#   HYDRA: the folder of an MPICH, as PyPI's; HOSTS [64]; RANKS on each [4]; ROUNDS [15]
# Prints for each launcher the median and the least milliseconds of a job of `true`, which is the launcher alone.
set -eu

prefix=$(cd "${1:?"usage: $0 PREFIX HYDRA [HOSTS [RANKS [ROUNDS]]]"}" && pwd)
hydra=$(cd "${2:?"usage: $0 PREFIX HYDRA [HOSTS [RANKS [ROUNDS]]]"}" && pwd)
hosts=${3:-64} each=${4:-4} rounds=${5:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TERN_COSTS=default

# Hydra's words are: -x HOST COMMAND, for a shell; Tern's: HOST COMMAND.
cat > "$work/shell" <<'STANDIN'
#!/bin/sh
[ "$1" != -x ] || { shift 2; exec sh -c "exec $*"; }
shift
exec sh -c 'exec "$@"' sh "$@"
STANDIN
chmod +x "$work/shell"

# Addresses, which nobody looks up: a name server that does not answer would take seconds.
names=$(seq -f '10.9.0.%g' -s , "$hosts")
rooms=$(seq -f "10.9.0.%g:$each" -s , "$hosts")
ranks=$((hosts * each))
tern() { "$prefix/bin/mpiexec" --remote-shell "$work/shell" --hosts "$rooms" -n "$ranks" true; }
peer() { "$hydra/bin/mpiexec" -launcher ssh -launcher-exec "$work/shell" -hosts "$names" -ppn "$each" -n "$ranks" true; }

for round in $(seq 0 "$rounds"); do
    for launcher in tern peer; do
        before=$(date +%s%N)
        $launcher < /dev/null > "$work/log" 2>&1 || { echo "$launcher failed:" && tail -n 5 "$work/log" && exit 1; }
        # The first round fills caches.
        [ "$round" = 0 ] || echo $((($(date +%s%N) - before) / 100000)) >> "$work/$launcher"
    done
done
echo "$hosts hosts, $each ranks on each, $rounds rounds in turns:"
for launcher in tern peer; do
    sort -n "$work/$launcher" | awk -v name=$launcher '{ t[NR] = $1 / 10 }
        END { printf "%-5s median %8.1f ms   least %8.1f ms\n", name, t[int((NR + 1) / 2)], t[1] }'
done
