// ranks: 1 2 4
// Probe and matched probe: what they tell, and that what they found is what is received.
#include "check.h"

static int me_to; /* messages go round in a ring, at one rank to itself */
static int from;

static void probe_then_receive(void)
{
    MPI_Request sends[40];
    static double out[40][3000];
    for (int i = 0; i < 40; i++) {
        int n = i * i * 2;
        for (int j = 0; j < n && j < 3000; j++) out[i][j] = i + j * 0.5;
        OK(MPI_Isend(out[i], n < 3000 ? n : 3000, MPI_DOUBLE, me_to, i % 5, MPI_COMM_WORLD, &sends[i]));
    }
    int next[5] = {0, 1, 2, 3, 4};
    for (int i = 0; i < 40; i++) {
        MPI_Status status, second;
        int count, flag = 0, tag = i % 3 == 0 ? MPI_ANY_TAG : -1, got;
        if (tag == -1) /* whichever tag is not through yet */
            for (tag = 0; next[tag] >= 40; tag++) {}
        if (i % 2) {
            OK(MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
        } else {
            while (!flag) OK(MPI_Iprobe(from, tag, MPI_COMM_WORLD, &flag, &status));
        }
        CHECK(status.MPI_SOURCE == from && status.MPI_TAG >= 0 && status.MPI_TAG < 5);
        OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
        int which = next[status.MPI_TAG], n = which * which * 2;
        CHECK(count == (n < 3000 ? n : 3000), "message %d", which);
        double *in = malloc(sizeof(double) * (count + 1));
        OK(MPI_Recv(in, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &second));
        OK(MPI_Get_count(&second, MPI_DOUBLE, &got));
        CHECK(got == count && second.MPI_TAG == status.MPI_TAG);
        for (int j = 0; j < count; j++) CHECK(in[j] == which + j * 0.5);
        free(in);
        next[status.MPI_TAG] += 5;
    }
    OK(MPI_Waitall(40, sends, MPI_STATUSES_IGNORE));
}

/* A message that a matched probe took is nobody else's. */
static void matched(void)
{
    for (int len = 0; len < 2000000; len = len * 9 + 3) {
        int *out = malloc(2 * (len + 1) * sizeof(int)), *in = calloc(2 * (len + 1), sizeof(int));
        for (int i = 0; i < 2 * len; i++) out[i] = rank + i;
        MPI_Request requests[3];
        MPI_Message message, other;
        MPI_Status status;
        int flag = 0, count;
        OK(MPI_Isend(out, len, MPI_INT, me_to, 3, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out + len, len, MPI_INT, me_to, 3, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Mprobe(from, 3, MPI_COMM_WORLD, &message, &status));
        CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
        while (!flag) OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &other, &status));
        /* Both are out: nothing is left to be found. */
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        /* The second before the first. */
        OK(MPI_Imrecv(in + len, len, MPI_INT, &other, &requests[2]));
        CHECK(other == MPI_MESSAGE_NULL);
        OK(MPI_Wait(&requests[2], &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == len && status.MPI_SOURCE == from && status.MPI_TAG == 3);
        OK(MPI_Mrecv(in, len, MPI_INT, &message, &status));
        CHECK(message == MPI_MESSAGE_NULL);
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        int wrong = 0;
        for (int i = 0; i < 2 * len; i++) wrong += in[i] != from + i;
        CHECK(wrong == 0, "%d of %d", wrong, 2 * len);
        free(out);
        free(in);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

static void nobody(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag = 0, count, x = 9;
    OK(MPI_Probe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Iprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    OK(MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    OK(MPI_Mrecv(&x, 1, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 0 && x == 9);
    OK(MPI_Improbe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC);
    OK(MPI_Imrecv(&x, 1, MPI_INT, &message, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void nothing_there(void)
{
    int flag = 1;
    MPI_Message message;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    flag = 1;
    OK(MPI_Improbe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    me_to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    probe_then_receive();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    matched();
    nobody();
    nothing_there();
    return finish();
}
