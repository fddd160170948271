// ranks: 2 4
// Every send mode, blocking and not, with sizes on both sides of every protocol's limits.
#include "check.h"

static const int sizes[] = {0, 1, 7, 79, 80, 81, 1000, 4095, 4096, 8192, 16383, 16385, 65535,
                            65536, 65537, 262144, 1 << 20, 3000001};
enum { SIZES = sizeof sizes / sizeof *sizes, LONGEST = 3000001 };
static unsigned char *out, *in;

static unsigned char byte(int seed, int at) { return (unsigned char)(seed * 37 + at * 11 + (at >> 8)); }

static void fill(unsigned char *buffer, int len, int seed)
{
    for (int i = 0; i < len; i++) buffer[i] = byte(seed, i);
}

static void expect(const unsigned char *buffer, int len, int seed)
{
    for (int i = 0; i < len; i++)
        if (buffer[i] != byte(seed, i)) {
            CHECK(buffer[i] == byte(seed, i), "byte %d of %d", i, len);
            return;
        }
}

static void sends_and_receives(int to, int from)
{
    MPI_Status status;
    int count;
    for (int mode = 0; mode < 6; mode++)
        for (int s = 0; s < SIZES; s++) {
            int len = sizes[s], tag = mode * 100 + s;
            MPI_Request receive, send = MPI_REQUEST_NULL;
            memset(in, 0, len + 1);
            fill(out, len, rank + tag);
            OK(MPI_Irecv(in, len + 1, MPI_BYTE, from, tag, MPI_COMM_WORLD, &receive));
            /* A ready send may only start when its receive is posted. */
            OK(MPI_Barrier(MPI_COMM_WORLD));
            switch (mode) {
            case 0: OK(MPI_Send(out, len, MPI_BYTE, to, tag, MPI_COMM_WORLD)); break;
            case 1: OK(MPI_Ssend(out, len, MPI_BYTE, to, tag, MPI_COMM_WORLD)); break;
            case 2: OK(MPI_Rsend(out, len, MPI_BYTE, to, tag, MPI_COMM_WORLD)); break;
            case 3: OK(MPI_Isend(out, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, &send)); break;
            case 4: OK(MPI_Issend(out, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, &send)); break;
            case 5: OK(MPI_Irsend(out, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, &send)); break;
            }
            OK(MPI_Wait(&receive, &status));
            OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
            CHECK(send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL);
            CHECK(status.MPI_SOURCE == from && status.MPI_TAG == tag);
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == len, "count %d, not %d", count, len);
            expect(in, len, from + tag);
            CHECK(in[len] == 0, "a byte too many");
        }
}

/* A synchronous send is not complete before its receive has begun; small or long. */
static void synchronous_waits(void)
{
    const int lengths[] = {0, 8, 3000000};
    for (int i = 0; i < 3; i++) {
        int flag = 0, len = lengths[i];
        MPI_Request request;
        if (rank == 0) {
            OK(MPI_Issend(out, len, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request));
            for (int look = 0; look < 1000; look++) {
                OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
                CHECK(!flag, "complete without a receive");
            }
            /* Only now does the other side receive. */
            OK(MPI_Send(NULL, 0, MPI_INT, 1, 6, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (rank == 1) {
            OK(MPI_Recv(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Recv(in, len, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
}

/* Messages to oneself. */
static void to_self(void)
{
    MPI_Request requests[2];
    for (int s = 0; s < SIZES; s++) {
        int len = sizes[s];
        memset(in, 0, len);
        fill(out, len, s);
        if (s % 2) {
            OK(MPI_Irecv(in, len, MPI_BYTE, 0, s, MPI_COMM_SELF, &requests[0]));
            OK(MPI_Issend(out, len, MPI_BYTE, 0, s, MPI_COMM_SELF, &requests[1]));
        } else {
            OK(MPI_Isend(out, len, MPI_BYTE, 0, s, MPI_COMM_SELF, &requests[1]));
            OK(MPI_Irecv(in, len, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &requests[0]));
        }
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        expect(in, len, s);
    }
}

/* A request that is given up completes all the same. */
static void freed_requests(int to, int from)
{
    static int value[50];
    MPI_Request request;
    for (int i = 0; i < 50; i++) {
        value[i] = i;
        OK(MPI_Isend(&value[i], 1, MPI_INT, to, 7, MPI_COMM_WORLD, &request));
        OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
    }
    for (int i = 0; i < 50; i++) {
        int got = -1;
        OK(MPI_Recv(&got, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == i);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    out = malloc(LONGEST + 1);
    in = malloc(LONGEST + 1);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (size == 2) {
        sends_and_receives(right, left);
    } else {
        /* In pairs, so that a blocking synchronous send has a receiver. */
        sends_and_receives(rank ^ 1, rank ^ 1);
    }
    synchronous_waits();
    to_self();
    freed_requests(right, left);
    return finish();
}
