// ranks: 1 2 4
// Wait and test for any, some and all: which, how many, and what null requests do.
#include "check.h"

enum { N = 12 };

static void none(void)
{
    MPI_Request nulls[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status, statuses[3];
    int index, flag, done, indices[3];
    OK(MPI_Wait(&nulls[0], &status));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Test(&nulls[0], &flag, &status));
    CHECK(flag);
    index = 0;
    OK(MPI_Waitany(3, nulls, &index, &status));
    CHECK(index == MPI_UNDEFINED && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Testany(3, nulls, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    done = 0;
    OK(MPI_Waitsome(3, nulls, &done, indices, statuses));
    CHECK(done == MPI_UNDEFINED);
    done = 0;
    OK(MPI_Testsome(3, nulls, &done, indices, statuses));
    CHECK(done == MPI_UNDEFINED);
    OK(MPI_Waitall(3, nulls, statuses));
    for (int i = 0; i < 3; i++) CHECK(statuses[i].MPI_SOURCE == MPI_ANY_SOURCE);
    OK(MPI_Testall(3, nulls, &flag, statuses));
    CHECK(flag);
    OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    OK(MPI_Waitany(0, NULL, &index, &status));
    CHECK(index == MPI_UNDEFINED);
}

static void one_by_one(int to, int from)
{
    int in[N], seen[N] = {0}, index, flag;
    MPI_Request receives[N + 1];
    MPI_Status status;
    for (int i = 0; i < N; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &receives[i]));
    receives[N] = MPI_REQUEST_NULL;
    OK(MPI_Testany(N + 1, receives, &index, &flag, &status));
    CHECK(!flag && index == MPI_UNDEFINED);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = N - 1; i >= 0; i--) OK(MPI_Send(&(int){i * 3}, 1, MPI_INT, to, i, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++) {
        if (i % 2) {
            OK(MPI_Waitany(N + 1, receives, &index, &status));
        } else {
            do OK(MPI_Testany(N + 1, receives, &index, &flag, &status));
            while (!flag);
        }
        CHECK(index >= 0 && index < N && !seen[index] && receives[index] == MPI_REQUEST_NULL);
        CHECK(status.MPI_TAG == index && status.MPI_SOURCE == from && in[index] == index * 3);
        seen[index] = 1;
    }
    OK(MPI_Waitany(N + 1, receives, &index, &status));
    CHECK(index == MPI_UNDEFINED);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void some(int to, int from)
{
    int in[N], seen[N] = {0}, done, total = 0, indices[N], turn = 0;
    MPI_Request receives[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &receives[i]));
    OK(MPI_Testsome(N, receives, &done, indices, statuses));
    CHECK(done == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < N; i++) OK(MPI_Send(&(int){i * 5}, 1, MPI_INT, to, i, MPI_COMM_WORLD));
    while (total < N) {
        if (turn++ % 2) {
            OK(MPI_Waitsome(N, receives, &done, indices, statuses));
            CHECK(done > 0);
        } else {
            OK(MPI_Testsome(N, receives, &done, indices, statuses));
            CHECK(done >= 0);
        }
        for (int i = 0; i < done; i++) {
            int at = indices[i];
            CHECK(at >= 0 && at < N && !seen[at] && in[at] == at * 5);
            CHECK(statuses[i].MPI_TAG == at && receives[at] == MPI_REQUEST_NULL);
            seen[at] = 1;
        }
        total += done;
    }
    CHECK(total == N);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void all(int to, int from)
{
    int in[N], out[N], flag = 1, value = 5;
    MPI_Request requests[2 * N];
    MPI_Status statuses[2 * N];
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]));
    }
    OK(MPI_Testall(N, requests, &flag, statuses));
    CHECK(!flag);
    for (int i = 0; i < N; i++) CHECK(requests[i] != MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < N; i++) {
        out[i] = i + 1;
        OK(MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[N + i]));
    }
    do OK(MPI_Testall(2 * N, requests, &flag, statuses));
    while (!flag);
    for (int i = 0; i < N; i++) {
        CHECK(in[i] == i + 1 && statuses[i].MPI_TAG == i);
        CHECK(requests[i] == MPI_REQUEST_NULL && requests[N + i] == MPI_REQUEST_NULL);
    }
    /* MPI_Request_get_status completes nothing. */
    OK(MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Request_get_status(requests[0], &flag, statuses));
    CHECK(!flag);
    OK(MPI_Send(&(int){6}, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    for (int twice = 0; twice < 2; twice++) {
        do OK(MPI_Request_get_status(requests[0], &flag, statuses));
        while (!flag);
        CHECK(requests[0] != MPI_REQUEST_NULL && statuses[0].MPI_SOURCE == 0 && value == 6);
    }
    /* Too late. */
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The forms of MPI 4.1 and later that look at many requests and complete none. */
static void looks(void)
{
    int in[2], flag, index, done, indices[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < 2; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]));
    OK(MPI_Send(&(int){70}, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    do OK(MPI_Request_get_status_any(2, requests, &index, &flag, statuses));
    while (!flag);
    CHECK(index == 1 && statuses[0].MPI_TAG == 1);
    OK(MPI_Request_get_status_some(2, requests, &done, indices, statuses));
    CHECK(done == 1 && indices[0] == 1 && statuses[0].MPI_TAG == 1);
    OK(MPI_Request_get_status_all(2, requests, &flag, statuses));
    CHECK(!flag && requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    OK(MPI_Send(&(int){71}, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    do OK(MPI_Request_get_status_all(2, requests, &flag, statuses));
    while (!flag);
    CHECK(statuses[0].MPI_TAG == 0 && statuses[1].MPI_TAG == 1);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == 71 && in[1] == 70);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    none();
    one_by_one(to, from);
    some(to, from);
    all(to, from);
    looks();
    return finish();
}
