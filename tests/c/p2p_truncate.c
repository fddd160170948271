// ranks: 1 2 4
// A message longer than its receive: MPI_ERR_TRUNCATE where the receive completes, the room that
// there was is filled, and what follows is in order.
#include "check.h"

static int to, from;

/* Sends `len` bytes to a receive with room for `room`, by one of the ways to complete. */
static void one(int len, int room, int way)
{
    unsigned char *out = malloc(len + 1), *in = malloc(len + 1);
    MPI_Request request, send;
    MPI_Status status;
    int flag = 0, index, done;
    for (int i = 0; i < len; i++) out[i] = (unsigned char)(i * 3 + rank);
    memset(in, 0xee, len + 1);
    memset(&status, 0, sizeof status);
    if (way != 1)
        OK(MPI_Irecv(in, room, MPI_BYTE, from, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Isend(out, len, MPI_BYTE, to, 1, MPI_COMM_WORLD, &send));
    switch (way) {
    case 0:
        FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
        break;
    case 1: /* the message has arrived before the receive */
        OK(MPI_Probe(from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_TRUNCATE, MPI_Recv(in, room, MPI_BYTE, from, 1, MPI_COMM_WORLD, &status));
        request = MPI_REQUEST_NULL;
        break;
    case 2: {
        MPI_Request pair[2] = {MPI_REQUEST_NULL, request};
        MPI_Status statuses[2];
        FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(2, pair, statuses));
        CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS);
        int class = 0;
        MPI_Error_class(statuses[1].MPI_ERROR, &class);
        CHECK(class == MPI_ERR_TRUNCATE, "class %d", class);
        status = statuses[1];
        request = pair[1];
        break;
    }
    case 3: {
        int code = MPI_SUCCESS, class;
        while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, &status);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_TRUNCATE, "class %d", class);
        break;
    }
    case 4:
        FAILS(MPI_ERR_TRUNCATE, MPI_Waitany(1, &request, &index, &status));
        CHECK(index == 0);
        break;
    case 5: {
        MPI_Status statuses[1];
        int class = 0;
        FAILS(MPI_ERR_IN_STATUS, MPI_Waitsome(1, &request, &done, &index, statuses));
        CHECK(done == 1 && index == 0);
        MPI_Error_class(statuses[0].MPI_ERROR, &class);
        CHECK(class == MPI_ERR_TRUNCATE, "class %d", class);
        status = statuses[0];
        break;
    }
    }
    CHECK(request == MPI_REQUEST_NULL, "way %d", way);
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 1, "way %d: %d %d", way, status.MPI_SOURCE, status.MPI_TAG);
    int wrong = 0, written = 0;
    for (int i = 0; i < len + 1; i++) {
        if (i >= room) written += in[i] != 0xee;
        else wrong += in[i] != (unsigned char)(i * 3 + from);
    }
    CHECK(written == 0, "%d bytes were written past the buffer", written);
    /* Other libraries may leave the buffer alone. */
    CHECK(wrong == 0 || !strict(), "%d of %d, way %d", wrong, room, way);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    free(out);
    free(in);
}

/* What comes after a truncated message is not disturbed. */
static void next_one(void)
{
    int in = 0, out = rank + 40;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, to, 2, &in, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == from + 40);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    const int lengths[] = {1, 100, 5000, 100000, 2000000};
    for (int way = 0; way < 6; way++)
        for (int i = 0; i < 5; i++) {
            one(lengths[i], lengths[i] / 2, way);
            one(lengths[i], lengths[i] - 1, way);
            next_one();
        }
    return finish();
}
