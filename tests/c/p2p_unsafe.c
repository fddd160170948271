// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=always
// timeout: 60
// Programs that count on messages below the eager limit to be buffered, while their memory comes to be shared: both send before
// they receive, or a message is sent that is received after another one. By calls that wait and by nonblocking ones.
#include "check.h"
#include "compute.h"

enum { LENGTH = 32768, ROUNDS = 400 };

static char *out, *in, *more;

static void receive(char *into, int tag, int value)
{
    OK(MPI_Recv(into, LENGTH, MPI_BYTE, !rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(into[0] == (char)value && into[LENGTH - 1] == (char)value);
}

static void send(int tag, int value)
{
    memset(out, value, LENGTH);
    OK(MPI_Send(out, LENGTH, MPI_BYTE, !rank, tag, MPI_COMM_WORLD));
}

/* Both post a receive and send; `first`: they wait for their sends before they go on to what is received first. */
static void exchange(int tag, int value, int first)
{
    MPI_Request requests[2];
    memset(out, value + rank, LENGTH);
    OK(MPI_Irecv(in, LENGTH, MPI_BYTE, !rank, first ? tag + 1 : tag, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(out, LENGTH, MPI_BYTE, !rank, tag, MPI_COMM_WORLD, &requests[1]));
    if (first) {
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        send(tag + 1, value + 1 + rank);
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == (char)(value + first + !rank) && in[LENGTH - 1] == (char)(value + first + !rank));
    if (first)
        receive(more, tag, value + !rank);
}

/* Both send, compute, and wait for that before they receive. */
static void compute_and_wait(int tag, int value)
{
    MPI_Request request;
    memset(out, value + rank, LENGTH);
    OK(MPI_Isend(out, LENGTH, MPI_BYTE, !rank, tag, MPI_COMM_WORLD, &request));
    compute(5);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    receive(in, tag, value + !rank);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    out = malloc(LENGTH);
    in = malloc(LENGTH);
    more = malloc(LENGTH);
    for (int round = 0; round < ROUNDS; round++) {
        /* In between, what makes each side expect that the other one waits; now and then so often that it does not look any more. */
        for (int i = 0; i < (round % 8 ? 4 : 48); i++) {
            if (rank == 0)
                send(1, round + i);
            receive(in, 1, round + i + (rank == 0));
            if (rank == 1)
                send(1, round + i + 1);
        }
        if (round % 2)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < round % 4 * 3; i++)
            compute_and_wait(9, round + i);
        /* Both send first. */
        send(2, round + rank);
        receive(in, 2, round + !rank);
        /* The receiver waits for the second message first. */
        if (rank == round / 2 % 2) {
            send(3, round);
            send(4, round + 1);
        } else {
            receive(in, 4, round + 1);
            receive(more, 3, round);
        }
        /* The second message of a tag is received after the answer to the first one. */
        if (rank == round % 2) {
            send(5, round);
            send(5, round + 1);
            receive(in, 6, round);
        } else {
            receive(in, 5, round);
            send(6, round);
            receive(in, 5, round + 1);
        }
        /* As neighbours that exchange data, and then not so. */
        for (int i = 0; i < 6; i++)
            exchange(7, round + i, 0);
        exchange(8, round, 1);
    }
    return finish();
}
