# Three hosts for tests, which sources this: network namespaces of this machine that see each other over a bridge only.
# Wants: here, the folder of tests; prefix; name, that of the bridge, and what the names of the hosts begin with; net, the first three numbers of their addresses.
# Gives: work, a folder; hosts, their names; on, mpiexec with a remote shell to them; check, and what common.sh has. Where namespaces
# cannot be made, it ends the test with a skip, aloud.
. "$here/common.sh"
work=$(mktemp -d)
evidence=$work/log

remove() {
    trap - EXIT INT TERM
    for host in a b c; do ip netns del "$name$host" 2> /dev/null || true; done
    ip link del "$name" 2> /dev/null || true
    rm -rf "$work"
}
trap remove EXIT
trap 'remove; exit 1' INT TERM

make() {
    ip link add "$name" type bridge && ip addr add "$net.1/24" dev "$name" && ip link set "$name" up || return 1
    last=1
    for host in a b c; do
        last=$((last + 1))
        ip netns add "$name$host" &&
            ip link add "$name$host" type veth peer name eth0 netns "$name$host" &&
            ip link set "$name$host" master "$name" up &&
            ip -n "$name$host" addr add "$net.$last/24" dev eth0 &&
            ip -n "$name$host" link set eth0 up &&
            ip -n "$name$host" link set lo up || return 1
    done
}
if ! make 2> "$work/why"; then
    echo "SKIP: this user cannot make network namespaces: $(head -n 1 "$work/why")"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

hosts=${name}a,${name}b,${name}c
# Each has a name of its own, too.
cat > "$work/shell" <<'END'
#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$host" "$@"
END
chmod +x "$work/shell"
on() { timeout --kill-after=5 100 "$prefix/bin/mpiexec" --remote-shell "$work/shell" "$@"; }

# check WHAT CODE PATTERN COMMAND...: the exit code, and what a line of the output matches.
check() {
    what=$1 wanted=$2 pattern=$3
    shift 3
    code=0
    "$@" > "$work/log" 2>&1 || code=$?
    if [ "$code" = "$wanted" ] && { [ -z "$pattern" ] || grep -q -e "$pattern" "$work/log"; }; then
        ok "$what"
    else
        fail "$what" "exit code $code, expected $wanted, and a line with: $pattern"
    fi
}
