// ranks: 1 2 4
// flags: -pthread
// timeout: 180
// Several threads of each process send and receive at once: on one communicator apart by tags, and
// on a communicator each.
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300, LONGEST = 70000 };
static MPI_Comm comms[THREADS];
static int to, from, by_tag;
static int bad[THREADS];

static int length(int me, int round) { return round % 50 == 7 ? LONGEST : (round * 131 + me * 17) % 2500; }

static void *work(void *argument)
{
    long me = (long)argument;
    MPI_Comm comm = by_tag ? MPI_COMM_WORLD : comms[me];
    int base = by_tag ? (int)me * 1000 : 0;
    int *out = malloc(LONGEST * sizeof(int)), *in = malloc(LONGEST * sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
        int n = length(me, round), tag = base + round % 3, count;
        MPI_Request requests[2];
        MPI_Status status;
        for (int i = 0; i < n; i++) out[i] = rank * 7 + (int)me * 100 + round + i;
        memset(in, 0xff, n * sizeof(int));
        switch (round % 4) {
        case 0: /* blocking, with the receive posted before */
            bad[me] += MPI_Irecv(in, n, MPI_INT, from, tag, comm, &requests[0]) != MPI_SUCCESS;
            bad[me] += MPI_Send(out, n, MPI_INT, to, tag, comm) != MPI_SUCCESS;
            bad[me] += MPI_Wait(&requests[0], &status) != MPI_SUCCESS;
            break;
        case 1:
            bad[me] += MPI_Sendrecv(out, n, MPI_INT, to, tag, in, n, MPI_INT, from, tag, comm, &status) != MPI_SUCCESS;
            break;
        case 2: {
            MPI_Status both[2];
            bad[me] += MPI_Isend(out, n, MPI_INT, to, tag, comm, &requests[0]) != MPI_SUCCESS;
            bad[me] += MPI_Irecv(in, n, MPI_INT, from, tag, comm, &requests[1]) != MPI_SUCCESS;
            bad[me] += MPI_Waitall(2, requests, both) != MPI_SUCCESS;
            status = both[1];
            break;
        }
        default: { /* matched probe, so that no other thread takes the message in between */
            MPI_Message message;
            bad[me] += MPI_Issend(out, n, MPI_INT, to, tag, comm, &requests[0]) != MPI_SUCCESS;
            bad[me] += MPI_Mprobe(from, tag, comm, &message, &status) != MPI_SUCCESS;
            bad[me] += MPI_Mrecv(in, n, MPI_INT, &message, &status) != MPI_SUCCESS;
            bad[me] += MPI_Wait(&requests[0], MPI_STATUS_IGNORE) != MPI_SUCCESS;
        }
        }
        MPI_Get_count(&status, MPI_INT, &count);
        bad[me] += count != n || status.MPI_TAG != tag || status.MPI_SOURCE != from;
        for (int i = 0; i < n; i++) bad[me] += in[i] != from * 7 + (int)me * 100 + round + i;
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (by_tag = 0; by_tag < 2; by_tag++) {
        pthread_t threads[THREADS];
        for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++) CHECK(bad[i] == 0, "thread %d: %d", i, bad[i]);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&comms[i]));
    return finish();
}
