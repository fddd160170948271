// A process and the one that it has spawned, each alone in its job, exchange messages of every length around those for
// which there is a choice of ways.
// ranks: 1
#include "check.h"

enum { MOST = 1 << 20 };
static char out[MOST], in[MOST];

/* To and fro: `first` sends first. */
static void exchange(MPI_Comm other, int first)
{
    for (int length = 1 << 10; length <= MOST; length *= 2)
        for (int round = 0; round < 20; round++)
            for (int turn = 0; turn < 2; turn++) {
                memset(out, round + turn, length);
                if (turn != first) {
                    OK(MPI_Send(out, length, MPI_BYTE, 0, turn, other));
                } else {
                    MPI_Status status;
                    OK(MPI_Recv(in, length, MPI_BYTE, 0, turn, other, &status));
                    CHECK(memcmp(in, out, length) == 0, "%d bytes, round %d", length, round);
                }
            }
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&other));
    if (other == MPI_COMM_NULL) {
        OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE));
        exchange(other, 0);
    } else {
        exchange(other, 1);
    }
    OK(MPI_Comm_disconnect(&other));
    return finish();
}
