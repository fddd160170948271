// ranks: 1 2 3 4
// Many collectives under way at once, on several communicators, completed in any order.
#include "check.h"

enum { MANY = 24, N = 300 };

static int sums[MANY][N], ones[MANY][N], roots[MANY][N];

static void nonblocking(void)
{
    MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Request requests[3 * MANY];
    int bad = 0, n = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]));
    for (int k = 0; k < MANY; k++) {
        for (int i = 0; i < N; i++) ones[k][i] = rank + k, roots[k][i] = rank == k % size ? k * 1000 + i : -1;
        OK(MPI_Iallreduce(ones[k], sums[k], N, MPI_INT, MPI_SUM, comms[k % 3], &requests[n++]));
        OK(MPI_Ibcast(roots[k], N, MPI_INT, k % size, comms[k % 2], &requests[n++]));
        OK(MPI_Ibarrier(comms[(k + 1) % 3], &requests[n++]));
    }
    /* A blocking one goes past those that are under way. */
    int one = 1, all = 0;
    OK(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all == size);
    /* Ranks complete them in different orders. */
    for (int k = 0; k < n; k++) {
        int at = rank % 2 ? n - 1 - k : k, flag = 0;
        if (k % 3 == 0) OK(MPI_Test(&requests[at], &flag, MPI_STATUS_IGNORE));
        if (!flag) OK(MPI_Wait(&requests[at], MPI_STATUS_IGNORE));
        CHECK(requests[at] == MPI_REQUEST_NULL);
    }
    for (int k = 0; k < MANY; k++)
        for (int i = 0; i < N; i++)
            bad += sums[k][i] != size * (size - 1) / 2 + size * k || roots[k][i] != k * 1000 + i;
    CHECK(!bad, "%d wrong", bad);
    /* Freed while a collective uses it. */
    MPI_Request last;
    OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, comms[1], &last));
    OK(MPI_Comm_free(&comms[1]));
    OK(MPI_Comm_free(&comms[2]));
    OK(MPI_Wait(&last, MPI_STATUS_IGNORE));
    CHECK(all == size);
}

/* Made in one order, started in another. */
static void persistent(void)
{
    MPI_Request requests[MANY];
    int bad = 0;
    for (int k = 0; k < MANY; k++)
        OK(MPI_Allreduce_init(ones[k], sums[k], N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[k]));
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < MANY; k++)
            for (int i = 0; i < N; i++) ones[k][i] = rank * (k + 1) + round, sums[k][i] = -1;
        for (int k = 0; k < MANY; k++) OK(MPI_Start(&requests[rank % 2 ? MANY - 1 - k : k]));
        OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        for (int k = 0; k < MANY; k++)
            for (int i = 0; i < N; i++) bad += sums[k][i] != size * (size - 1) / 2 * (k + 1) + size * round;
        CHECK(!bad, "round %d: %d wrong", round, bad);
    }
    OK(MPI_Startall(MANY, requests));
    OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < MANY; k++) OK(MPI_Request_free(&requests[k]));
}

/* Progress is made while the program waits for a message. */
static void beside_messages(void)
{
    int token = 0, sum = 0, to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request reduction, send;
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &reduction));
    OK(MPI_Isend(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &send));
    OK(MPI_Recv(&token, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(token == from);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
    CHECK(sum == size * (size - 1) / 2);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    nonblocking();
    persistent();
    beside_messages();
    return finish();
}
