// ranks: 1 2 4
// The order of messages: those of one sender do not overtake each other, whatever their size, mode
// and communicator, and receives are served in the order of posting.
#include "check.h"

enum { N = 300, LONG = 40000 };

/* Sizes that change between the protocols all the time. */
static int length(int i) { return i % 7 == 3 ? LONG : i % 5 == 1 ? 0 : (i * 37) % 3000 + 1; }

static void one_sender(int to, int from)
{
    static int out[N][LONG];
    static int in[LONG];
    MPI_Request sends[N];
    for (int i = 0; i < N; i++) {
        out[i][0] = i;
        if (i % 3 == 0) OK(MPI_Issend(out[i], length(i), MPI_INT, to, i % 4, MPI_COMM_WORLD, &sends[i]));
        else OK(MPI_Isend(out[i], length(i), MPI_INT, to, i % 4, MPI_COMM_WORLD, &sends[i]));
    }
    /* Any tag: in the order of sending. */
    int i = 0, count;
    MPI_Status status;
    for (; i < N / 2; i++) {
        in[0] = -1;
        OK(MPI_Recv(in, LONG, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(status.MPI_TAG == i % 4 && count == length(i) && (count == 0 || in[0] == i), "message %d", i);
    }
    /* Tag by tag, the last tag first. */
    for (int tag = 3; tag >= 0; tag--)
        for (int j = i; j < N; j++) {
            if (j % 4 != tag) continue;
            in[0] = -1;
            OK(MPI_Recv(in, LONG, MPI_INT, from, tag, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_INT, &count));
            CHECK(count == length(j) && (count == 0 || in[0] == j), "message %d with tag %d", j, tag);
        }
    OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
}

/* Receives with and without wildcards: the oldest that matches gets the message. */
static void posted_order(int to, int from)
{
    int in[N];
    MPI_Request receives[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        int source = i % 3 == 1 ? MPI_ANY_SOURCE : from, tag = i % 4 == 2 ? MPI_ANY_TAG : i % 2;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &receives[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* Message i has the tag that receive i has, or one that its wildcard takes; the model says who
     * gets it. */
    int open[N], expected[N];
    for (int i = 0; i < N; i++) open[i] = 1;
    for (int i = 0; i < N; i++) {
        int tag = (i * 5 / 3) % 2, owner = -1;
        for (int r = 0; r < N && owner < 0; r++)
            if (open[r] && (r % 4 == 2 || r % 2 == tag)) owner = r;
        if (owner < 0) { /* all receives for this tag are used up */
            tag = 1 - tag;
            for (int r = 0; r < N && owner < 0; r++)
                if (open[r] && (r % 4 == 2 || r % 2 == tag)) owner = r;
        }
        open[owner] = 0;
        expected[owner] = i;
        OK(MPI_Send(&i, 1, MPI_INT, to, tag, MPI_COMM_WORLD));
    }
    OK(MPI_Waitall(N, receives, statuses));
    for (int i = 0; i < N; i++) CHECK(in[i] == expected[i], "receive %d got %d, not %d", i, in[i], expected[i]);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Communicators do not mix, and neither do they wait for each other. */
static void communicators(int to, int from)
{
    MPI_Comm other;
    int a = 1, b = 2, in = 0;
    MPI_Request requests[2];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    OK(MPI_Isend(&a, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(&b, 1, MPI_INT, to, 0, other, &requests[1]));
    OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, MPI_STATUS_IGNORE));
    CHECK(in == 2);
    OK(MPI_Recv(&in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == 1);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Comm_free(&other));
}

/* Many senders, one receiver with wildcards: each sender's messages stay in order. */
static void many_senders(void)
{
    if (rank == 0) {
        int next[64] = {0};
        for (int i = 0; i < (size - 1) * N; i++) {
            int in[2];
            MPI_Status status;
            OK(MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            CHECK(in[0] == status.MPI_SOURCE && in[1] == next[in[0]] && status.MPI_TAG == in[1] % 10);
            next[in[0]]++;
        }
    } else {
        for (int i = 0; i < N; i++) OK(MPI_Send((int[]){rank, i}, 2, MPI_INT, 0, i % 10, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    one_sender(to, from);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    posted_order(to, from);
    communicators(to, from);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    many_senders();
    return finish();
}
