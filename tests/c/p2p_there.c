// ranks: 2 3
// Receives whose message is there when they start: complete at once, by whatever call their end is asked for,
// and in any order. Truncated ones are an error of their communicator when they end.
#include "check.h"

enum { MANY = 8, N = 4 };
static int in[MANY][N];
static MPI_Request requests[MANY];

/* Rank 1 has sent MANY messages, tag i of i % N numbers, and they have come, when rank 0 starts its receives. */
static void start(void)
{
    int out[N];
    if (rank == 1)
        for (int i = 0; i < MANY; i++) {
            for (int j = 0; j < N; j++) out[j] = 100 * i + j;
            OK(MPI_Send(out, i % N, MPI_INT, 0, i, MPI_COMM_WORLD));
        }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    memset(in, 0xff, sizeof in);
    if (rank == 0)
        for (int i = 0; i < MANY; i++) OK(MPI_Irecv(in[i], N, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
}

static void look(int i, const MPI_Status *status)
{
    int count;
    OK(MPI_Get_count(status, MPI_INT, &count));
    CHECK(count == i % N && status->MPI_SOURCE == 1 && status->MPI_TAG == i, "message %d: %d from %d, tag %d", i, count,
          status->MPI_SOURCE, status->MPI_TAG);
    for (int j = 0; j < N; j++)
        CHECK(in[i][j] == (j < count ? 100 * i + j : -1), "message %d, %d: %d", i, j, in[i][j]);
}

static void by_wait(void)
{
    MPI_Status status;
    for (int i = MANY - 1; i >= 0; i--) {
        OK(MPI_Wait(&requests[i], &status));
        look(i, &status);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

static void by_test(void)
{
    MPI_Status status;
    for (int i = 0; i < MANY; i++) {
        int flag = 0;
        while (!flag) OK(MPI_Request_get_status(requests[i], &flag, &status));
        look(i, &status);
        MPI_Request copy = requests[i];
        for (flag = 0; !flag;) OK(MPI_Test(&requests[i], &flag, &status));
        look(i, &status);
        CHECK(requests[i] == MPI_REQUEST_NULL);
        if (strict()) FAILS(MPI_ERR_REQUEST, MPI_Wait(&copy, &status));
    }
}

static void by_all(void)
{
    MPI_Status statuses[MANY];
    OK(MPI_Waitall(MANY, requests, statuses));
    for (int i = 0; i < MANY; i++) look(i, &statuses[i]);
}

static void by_testall(void)
{
    MPI_Status statuses[MANY];
    for (int flag = 0; !flag;) OK(MPI_Testall(MANY, requests, &flag, statuses));
    for (int i = 0; i < MANY; i++) look(i, &statuses[i]);
}

static void by_any(void)
{
    MPI_Status status;
    int index;
    for (int left = MANY; left > 0; left--) {
        OK(MPI_Waitany(MANY, requests, &index, &status));
        look(index, &status);
    }
    OK(MPI_Waitany(MANY, requests, &index, &status));
    CHECK(index == MPI_UNDEFINED);
}

static void by_some(void)
{
    MPI_Status statuses[MANY];
    int indices[MANY], count;
    for (int left = MANY; left > 0; left -= count) {
        OK(MPI_Waitsome(MANY, requests, &count, indices, statuses));
        for (int k = 0; k < count; k++) look(indices[k], &statuses[k]);
    }
}

/* Too late to cancel, and nobody asks any more. */
static void by_free(void)
{
    MPI_Status status;
    int cancelled;
    for (int i = 0; i < MANY; i++)
        if (i % 2) {
            OK(MPI_Wait(&requests[i], &status));
        } else {
            int flag = 0;
            while (!flag) OK(MPI_Request_get_status(requests[i], &flag, &status));
            OK(MPI_Cancel(&requests[i]));
            OK(MPI_Test_cancelled(&status, &cancelled));
            CHECK(!cancelled);
            look(i, &status);
            OK(MPI_Request_free(&requests[i]));
            CHECK(requests[i] == MPI_REQUEST_NULL);
        }
}

static void truncated(void)
{
    int out[N] = {1, 2, 3, 4}, place = 0;
    MPI_Request request;
    MPI_Status status;
    if (rank == 1) OK(MPI_Send(out, N, MPI_INT, 0, 9, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank != 0) return;
    OK(MPI_Irecv(&place, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
    CHECK(place == 1 && request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    void (*const ways[])(void) = {by_wait, by_test, by_all, by_testall, by_any, by_some, by_free};
    begin(&argc, &argv);
    for (int round = 0; round < 100; round++)
        for (int way = 0; way < (int)(sizeof ways / sizeof *ways); way++) {
            start();
            if (rank == 0) ways[way]();
        }
    truncated();
    return finish();
}
