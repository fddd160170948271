// ranks: 1 2 4
// Cancelling: a receive that nothing has matched, a send that nobody has received, and those for
// which it is too late.
#include "check.h"

static void receives(void)
{
    int x = 77, flag;
    MPI_Request requests[3];
    MPI_Status status;
    /* Of three receives the middle one goes: the others keep their order. */
    int in[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        OK(MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, i == 1 ? 5 : MPI_ANY_TAG, MPI_COMM_SELF, &requests[i]));
    OK(MPI_Cancel(&requests[1]));
    OK(MPI_Wait(&requests[1], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && requests[1] == MPI_REQUEST_NULL);
    for (int i = 1; i <= 2; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
    OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    CHECK(in[0] == 1 && in[1] == 0 && in[2] == 2, "%d %d %d", in[0], in[1], in[2]);

    /* Too late: it has been received. */
    OK(MPI_Irecv(&x, 1, MPI_INT, 0, 6, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Send(&(int){8}, 1, MPI_INT, 0, 6, MPI_COMM_SELF));
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag && x == 8);

    /* A persistent one may be started again. */
    OK(MPI_Recv_init(&x, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Start(&requests[0]));
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && requests[0] != MPI_REQUEST_NULL);
    OK(MPI_Start(&requests[0]));
    OK(MPI_Send(&(int){11}, 1, MPI_INT, 0, 8, MPI_COMM_SELF));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag && x == 11);
    OK(MPI_Request_free(&requests[0]));
}

/* Cancelled and given up at once. */
static void given_up(void)
{
    int x = 8, y = 3, z = 0;
    MPI_Request request;
    OK(MPI_Irecv(&x, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Request_free(&request));
    OK(MPI_Sendrecv(&y, 1, MPI_INT, 0, 7, &z, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(x == 8 && z == 3);
}

/* A send that the other side never receives. It completes in any case, and either it was
 * cancelled or the message is there. (MPICH does not cancel sends: it would wait for ever.) */
static void sends(int len)
{
    if (size < 2 || !strict()) return;
    char *buffer = calloc(len + 1, 1);
    int cancelled, there;
    if (rank == 0) {
        MPI_Request request;
        MPI_Status status;
        OK(MPI_Issend(buffer, len, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &request));
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        OK(MPI_Send(&cancelled, 1, MPI_INT, 1, 10, MPI_COMM_WORLD));
    } else if (rank == 1) {
        OK(MPI_Recv(&cancelled, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Iprobe(0, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
        CHECK(cancelled == !there, "%d bytes: cancelled %d, there %d", len, cancelled, there);
        /* Nobody has asked for it, so that there was every chance. */
        CHECK(cancelled);
        if (there) OK(MPI_Recv(buffer, len, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    free(buffer);
    /* The next message is not to be taken for this one. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void to_self(void)
{
    int flag, x = 4, y = 0;
    MPI_Request send;
    OK(MPI_Issend(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &send));
    OK(MPI_Cancel(&send));
    OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
    if (!flag) OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    x = 5;
    OK(MPI_Sendrecv(&x, 1, MPI_INT, 0, 1, &y, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(y == 5, "a cancelled message was received");
}

/* A send and a receive in one request are not cancelled, as what is neither a send nor a receive is not; they go on. */
static void both(void)
{
    int out[2] = {3, 4}, in = 0;
    MPI_Request requests[2];
    OK(MPI_Isendrecv(&out[0], 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Isendrecv_replace(&out[1], 1, MPI_INT, 0, 2, 0, 1, MPI_COMM_SELF, &requests[1]));
    for (int i = 0; i < 2; i++)
        FAILS(MPI_ERR_REQUEST, MPI_Cancel(&requests[i]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in == 4 && out[1] == 3, "%d %d", in, out[1]);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    receives();
    sends(0);
    sends(100);
    sends(1 << 20);
    given_up();
    if (strict()) {
        to_self();
        both();
    }
    return finish();
}
