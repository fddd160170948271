// ranks: 2
// A receive that could not be published when it was posted is published when what was in the way is gone: an older
// receive that could have taken its message, or that there was no room. Messages go to their receives in the order of
// both all the same.
#include "counter.h"
#include "compute.h"

/* Microseconds: who waits at once need not publish. */
enum { LONG = 100000, MANY = 100, ROUNDS = 10, A_WHILE = 20 };
static MPI_T_pvar_handle handle;

static number late(void)
{
    return counted(handle);
}

/* What is published, and when, may be set otherwise. */
static int off(void)
{
    return getenv("TERN_TUPLEQ") || getenv("TERN_TUPLEQ_THRESHOLD") || getenv("TERN_FAULTS");
}

static int *buffers[MANY];

static void check(int which, int value)
{
    CHECK(buffers[which][0] == value && buffers[which][LONG / 4 - 1] == value, "%d instead of %d", buffers[which][0], value);
}

static void send(int value, int count, int tag)
{
    for (int i = 0; i < count; i++) buffers[0][i] = value;
    OK(MPI_Send(buffers[0], count, MPI_INT, 1, tag, MPI_COMM_WORLD));
}

/* Calls the library until as many were published late, for a second at most: the sender is to find them. */
static void await_late(number wanted)
{
    double end = MPI_Wtime() + 1;
    int flag;
    while (!off() && late() < wanted && MPI_Wtime() < end)
        OK(MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
}

/* A wildcard in front, of any tag or any source; or a short receive of the same tag. */
static void behind(int source, int tag)
{
    int first = 0, count = LONG / 4;
    number before = late();
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 1) {
            MPI_Request requests[3];
            OK(MPI_Irecv(&first, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Irecv(buffers[1], count, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]));
            OK(MPI_Irecv(buffers[2], count, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[2]));
            compute(A_WHILE);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            CHECK(first == round, "%d", first);
            await_late(before + 2 * (round + 1));
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE));
            check(1, round + 1000);
            check(2, round + 2000);
        } else {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            send(round, 1, 5);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            send(round + 1000, count, 5);
            send(round + 2000, count, 5);
        }
    }
    /* Both of a round. */
    if (rank == 1 && !off()) CHECK(late() - before >= 2 * ROUNDS, "%llu", late() - before);
}

/* One in front that is cancelled. */
static void behind_a_cancelled(void)
{
    number before = late();
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 1) {
            int unused, cancelled;
            MPI_Request requests[2];
            MPI_Status status;
            OK(MPI_Irecv(&unused, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Irecv(buffers[1], LONG / 4, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]));
            OK(MPI_Cancel(&requests[0]));
            OK(MPI_Wait(&requests[0], &status));
            OK(MPI_Test_cancelled(&status, &cancelled));
            CHECK(cancelled);
            compute(A_WHILE);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
            check(1, round);
        } else {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            send(round, LONG / 4, 5);
        }
    }
    if (rank == 1 && !off()) CHECK(late() > before);
}

/* More receives than a sender can see at once. */
static void without_room(void)
{
    number before = late();
    for (int round = 0; round < 3; round++) {
        if (rank == 1) {
            MPI_Request requests[MANY];
            for (int i = 0; i < MANY; i++) OK(MPI_Irecv(buffers[i], LONG / 4, MPI_INT, 0, i % 3, MPI_COMM_WORLD, &requests[i]));
            compute(A_WHILE);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < MANY; i++) check(i, i + round);
        } else {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            for (int i = 0; i < MANY; i++) send(i + round, LONG / 4, i % 3);
        }
    }
    if (rank == 1 && !off()) CHECK(late() - before >= MANY / 2, "%llu", late() - before);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    handle = counter("published_late");
    for (int i = 0; i < MANY; i++) buffers[i] = malloc(LONG);
    /* From here on a sender on another node has its table. */
    behind_a_cancelled();
    behind(0, MPI_ANY_TAG);
    behind(MPI_ANY_SOURCE, 5);
    behind(0, 5);
    without_room();
    for (int i = 0; i < MANY; i++) free(buffers[i]);
    end_counting();
    return finish();
}
