// ranks: 2 4
// flags: -pthread
// timeout: 180
// Threads that take whatever comes, from one queue: every message is received once, by somebody,
// and a thread that waits in MPI does not keep the others out.
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, MESSAGES = 2000, STOP = 1 };
static _Atomic int received, wrong;
static _Atomic unsigned char seen[64][MESSAGES];

static void note(int *message, int count, MPI_Status *status)
{
    int number = message[0];
    wrong += status->MPI_SOURCE != message[1] || number < 0 || number >= MESSAGES || count != 2 + number % 700;
    for (int i = 2; i < count; i++) wrong += message[i] != number + i;
    wrong += atomic_fetch_add(&seen[message[1]][number], 1) != 0;
    received++;
}

static void *receive(void *argument)
{
    long me = (long)argument;
    int message[1000], count;
    MPI_Status status;
    for (;;) {
        if (me % 2) {
            MPI_Recv(message, 1000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        } else {
            MPI_Message found;
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            MPI_Mrecv(message, count, MPI_INT, &found, &status);
        }
        if (status.MPI_TAG == STOP) return NULL;
        MPI_Get_count(&status, MPI_INT, &count);
        note(message, count, &status);
    }
}

static void *send(void *argument)
{
    long me = (long)argument;
    int message[1000];
    for (int number = (int)me; number < MESSAGES; number += THREADS) {
        message[0] = number;
        message[1] = rank;
        for (int i = 2; i < 1000; i++) message[i] = number + i;
        MPI_Send(message, 2 + number % 700, MPI_INT, 0, 5 + number % 9, MPI_COMM_WORLD);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, rank == 0 ? receive : send, (void *)i);
    if (rank == 0) {
        /* The receivers wait inside MPI most of the time: this thread must get in. */
        for (int from = 1; from < size; from++) OK(MPI_Send(&from, 1, MPI_INT, from, 99, MPI_COMM_WORLD));
    } else {
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        int told = 0;
        OK(MPI_Recv(&told, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(told == rank);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        /* A stop for each thread; it comes from here, after all else has been taken. */
        while (received < (size - 1) * MESSAGES) sched_yield();
        for (int i = 0; i < THREADS; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, STOP, MPI_COMM_WORLD));
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        CHECK(wrong == 0, "%d", wrong);
        CHECK(received == (size - 1) * MESSAGES, "%d", received);
    }
    return finish();
}
