// Threads that make communicators at the same time, each from a communicator of its own, in no
// order that the processes agree on.
// ranks: 1 2 4
// flags: -pthread
// timeout: 120
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 15 };
static MPI_Comm parents[THREADS];
static int bad[THREADS];

static void *work(void *argument)
{
    long me = (long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm a, b, c;
        MPI_Request request;
        int sum = 0, one = 1, x = (int)me * 100 + round, largest = -1;
        MPI_Comm_idup(parents[me], &a, &request);
        MPI_Comm_split(parents[me], rank % 2, 0, &b);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_dup(a, &c);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
        MPI_Allreduce(&x, &largest, 1, MPI_INT, MPI_MAX, b);
        if (sum != size || largest != x)
            bad[me]++;
        MPI_Comm_free(&b);
        MPI_Comm_free(&a);
        MPI_Comm_free(&c);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]));
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) {
        /* Another order at every process. */
        long which = rank % 2 ? THREADS - 1 - i : i;
        pthread_create(&threads[i], NULL, work, (void *)which);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(bad[i] == 0, "thread %d: %d wrong rounds", i, bad[i]);
        OK(MPI_Comm_free(&parents[i]));
    }
    return finish();
}
