# Two hosts, b and c, and another user of b, for tests, which source this. mpiexec is on c, of which an address is an address of b
# too, as a bridge of containers has one on every host: there the other user can listen.
# Wants: here, the folder of tests; prefix.
# Gives: what hosts/three.sh has; b, c; both, the address of both hosts, the first one that c tells; port, the first that jobs take;
# relay; stranger and away; hello, a program.
name=ternstr$$
net=10.$((100 + $$ % 50)).$(($$ / 50 % 250))
. "$here/hosts/three.sh"
c=${name}c b=${name}b
port=20000
export TERN_PORT_RANGE=$port-$((port + 40))
export UNSEEN="what-nobody-may-see-$$"
relay=$here/strangers/relay.py
# mpiexec is on c, which tells this address first; b has it too.
both=172.31.77.1
ip -n "$c" addr del "$net.4/24" dev eth0
ip -n "$c" addr add "$both/24" dev eth0
ip -n "$c" addr add "$net.4/24" dev eth0
ip -n "$b" addr add "$both/32" dev lo
cat > "$work/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
// hello [UNTIL [THERE GO]]: says at THERE that it is there and waits for GO, then sends the first message; goes on until UNTIL.
int main(int argc, char **argv)
{
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 3) {
        if (!rank) fclose(fopen(argv[2], "w"));
        while (access(argv[3], F_OK)) usleep(10000);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    while (argc > 1 && argv[1][0] && access(argv[1], F_OK)) usleep(10000);
    if (!rank) printf("sum %d, %s\n", sum, getenv("UNSEEN") ? getenv("UNSEEN") : "");
    MPI_Finalize();
    return 0;
}
END
"$prefix/bin/mpicc" -std=gnu11 -O1 -w -o "$work/hello" "$work/hello.c"
chmod 755 "$work"

# stranger WORDS...: what another user of b does, until `away`.
stranger() {
    rm -rf "$work/kept" && mkdir "$work/kept"
    [ "${5:-}" != old ] || cp "$work/old" "$work/kept/down"
    chown -R 65534 "$work/kept"
    # What the stranger before has said is away before this one begins: the shell empties the file only in the background.
    : > "$work/stranger"
    ip netns exec "$b" python3 "$relay" "$@" > "$work/stranger" 2>&1 &
    doing=$!
    for _ in $(seq 200); do
        grep -q ready "$work/stranger" && return
        sleep 0.05
    done
    echo "the stranger has not begun: $(cat "$work/stranger")"
}
away() {
    kill "$doing" 2> /dev/null || true
    wait "$doing" 2> /dev/null || true
}

wait_for() {
    for _ in $(seq 600); do
        [ -e "$1" ] && return
        sleep 0.05
    done
    echo "nobody has made $1"
}
