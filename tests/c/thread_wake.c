// ranks: 1 2
// flags: -pthread
// timeout: 120
// A thread that waits inside MPI is woken by what another thread of its process does.
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static void *receiver(void *argument)
{
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    *(int *)argument = value;
    return NULL;
}

/* Receives a message in another thread's name: its data comes with this thread's progress. */
static void *waiter(void *argument)
{
    MPI_Wait(argument, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        int got = -1;
        pthread_create(&thread, NULL, receiver, &got);
        /* At times it is asleep by now, at times it has not begun. */
        if (round % 20 == 0) usleep(100000);
        OK(MPI_Send(&round, 1, MPI_INT, 0, 3, MPI_COMM_SELF));
        pthread_join(thread, NULL);
        CHECK(got == round, "%d, not %d", got, round);
    }
    int peer = (rank + 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[2];
        int a = -1, b = -1;
        MPI_Request requests[2];
        OK(MPI_Irecv(&a, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(&b, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[1]));
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, waiter, &requests[i]);
        if (round % 20 == 0) usleep(50000);
        OK(MPI_Send(&(int){round}, 1, MPI_INT, peer, 2, MPI_COMM_WORLD));
        OK(MPI_Send(&(int){-round}, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        CHECK(a == -round && b == round);
    }
    return finish();
}
