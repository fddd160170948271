// ranks: 2 4
// timeout: 60
// mpiexec: -x TERN_POLICY=-copies
// Reading another process's memory is allowed at first, while messages of irregular datatypes go by regions of segments. In the middle of the job it is
// refused at one rank of each pair. Messages that were asked for go in packets then, and no message is lost or wrong.
#include "check.h"
#include "refuse.h"
#include <errno.h>

enum { BLOCK = 5000, BLOCKS = 60, STEP = BLOCK + 100, ROOM = BLOCKS * STEP + 1000, TURNS = 40 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int peer = rank ^ 1, lengths[BLOCKS], at[BLOCKS], wrong;
    unsigned char *out = malloc(ROOM), *in = malloc(ROOM);
    MPI_Datatype type;
    MPI_Request requests[2];
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = BLOCK - i % 3;
        at[i] = i * STEP + i % 7 * 10;
    }
    OK(MPI_Type_indexed(BLOCKS, lengths, at, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    for (int turn = 0; turn < TURNS; turn++) {
        memset(out, rank + turn, ROOM);
        memset(in, 0xee, ROOM);
        if (turn % 2) OK(MPI_Irecv(in, 1, type, peer, turn, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out, 1, type, peer, turn, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (turn == TURNS / 2 && rank % 2 == 1) {
            /* The message of this turn waits already. */
            struct sock_filter program[16], *end = load(program, offsetof(struct seccomp_data, nr));
            if (put_in_force(program, refuse_copying(end, EPERM)) != 0) printf("no filter is permitted here: %s\n", strerror(errno));
        }
        if (turn % 2 == 0) OK(MPI_Irecv(in, 1, type, peer, turn, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        wrong = 0;
        for (int i = 0, to = 0; i < ROOM; i++) {
            if (to < BLOCKS && i >= at[to] + lengths[to]) to++;
            int inside = to < BLOCKS && i >= at[to];
            wrong += in[i] != (inside ? (unsigned char)(peer + turn) : 0xee);
        }
        CHECK(wrong == 0, "turn %d: %d bytes are wrong", turn, wrong);
    }
    OK(MPI_Type_free(&type));
    free(out);
    free(in);
    return finish();
}
