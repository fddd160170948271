// ranks: 2 4
// timeout: 60
// Reading another process's memory is allowed at first, and is refused in the middle of the job, at
// one rank of each pair: no message is lost, and none is wrong.
#include "check.h"
#include "refuse.h"
#include <errno.h>

enum { MOST = 1 << 20, TURNS = 60 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int peer = rank ^ 1;
    unsigned char *out = malloc(MOST), *in = malloc(MOST);
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn == TURNS / 2 && rank % 2 == 1) {
            struct sock_filter program[16], *at = load(program, offsetof(struct seccomp_data, nr));
            if (put_in_force(program, refuse_copying(at, EPERM)) != 0)
                printf("no filter is permitted here: %s\n", strerror(errno));
        }
        int count = turn % 3 == 0 ? MOST : turn % 3 == 1 ? 65536 + turn : 9000 + turn;
        memset(out, rank + turn, count);
        memset(in, 0xee, count);
        MPI_Request requests[2];
        if (turn % 4 == 3) {
            // One after the other, so that each waits for the other.
            for (int i = 0; i < 2; i++)
                if (i == rank % 2)
                    OK(MPI_Send(out, count, MPI_BYTE, peer, turn, MPI_COMM_WORLD));
                else
                    OK(MPI_Recv(in, count, MPI_BYTE, peer, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Irecv(in, count, MPI_BYTE, peer, turn, MPI_COMM_WORLD, &requests[0]));
            if (turn % 2)
                OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Isend(out, count, MPI_BYTE, peer, turn, MPI_COMM_WORLD, &requests[1]));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        }
        int wrong = 0;
        for (int i = 0; i < count; i++)
            wrong += in[i] != (unsigned char)(peer + turn);
        CHECK(wrong == 0, "turn %d: %d of %d bytes are wrong", turn, wrong, count);
    }
    free(out);
    free(in);
    return finish();
}
