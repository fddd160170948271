// ranks: 1 2 3
// flags: -pthread
// Threads of all processes on one window at once.
#include "rma.h"
#include <pthread.h>

enum { THREADS = 3, TIMES = 100 };

static struct window w;

static void *work(void *which)
{
    int thread = (int)(long)which, next = (rank + 1) % size;
    long one = 1, was, number, back;
    for (int i = 0; i < TIMES; i++) {
        OK(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, place(&w, 0, 0), MPI_SUM, w.win));
        OK(MPI_Win_flush(0, w.win));
        MPI_Aint own_slot = place(&w, next, (1 + rank * THREADS + thread) * sizeof(long));
        number = rank * 1000000 + thread * 1000 + i;
        MPI_Request request;
        OK(MPI_Rput(&number, 1, MPI_LONG, next, own_slot, 1, MPI_LONG, w.win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Win_flush(next, w.win));
        OK(MPI_Get(&back, 1, MPI_LONG, next, own_slot, 1, MPI_LONG, w.win));
        OK(MPI_Win_flush(next, w.win));
        CHECK(back == number, "%ld, not %ld", back, number);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE)
        return finish();
    for (int kind = 0; kind < KINDS; kind++) {
        w = open_window(kind, (1 + size * THREADS) * sizeof(long), MPI_COMM_WORLD);
        see(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_lock_all(0, w.win));
        pthread_t threads[THREADS];
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        OK(MPI_Win_unlock_all(w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        see(w.win);
        if (rank == 0)
            CHECK(*(long *)w.base == (long)size * THREADS * TIMES, "%s: %ld", kind_names[kind], *(long *)w.base);
        close_window(&w);
    }
    return finish();
}
