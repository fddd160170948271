// ranks: 1 2 3
// flags: -pthread
// timeout: 120
// Several threads of each rank, each with a file of its own: collective, shared and split access at
// the same time.
#include "file.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 15, N = 3000 };

static MPI_Comm comms[THREADS];
static int wrong[THREADS];

static void *work(void *argument)
{
    const int me = (int)(long)argument;
    char own[300];
    MPI_File file;
    MPI_Datatype every;
    MPI_Offset position;
    int *out = malloc(N * sizeof(int)), *in = malloc(N * sizeof(int)), bad = 0;
    snprintf(own, sizeof own, "%s-%d", name, me);
    bad += MPI_File_open(comms[me], own, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) != 0;
    MPI_Type_create_resized(MPI_INT, 0, size * sizeof(int), &every);
    MPI_Type_commit(&every);
    for (int round = 0; round < ROUNDS; round++) {
        bad += MPI_File_set_view(file, rank * sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL) != 0;
        for (int i = 0; i < N; i++) out[i] = me * 100000 + rank * 10000 + round * 7 + i;
        if (round % 2) {
            bad += MPI_File_write_at_all(file, 0, out, N, MPI_INT, MPI_STATUS_IGNORE) != 0;
            bad += MPI_File_read_at_all(file, 0, in, N, MPI_INT, MPI_STATUS_IGNORE) != 0;
        } else {
            bad += MPI_File_write_all_begin(file, out, N, MPI_INT) != 0;
            bad += MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE) != 0;
            bad += MPI_File_read_at_all_begin(file, 0, in, N, MPI_INT) != 0;
            bad += MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE) != 0;
        }
        bad += memcmp(in, out, N * sizeof(int)) != 0;
        bad += MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != 0;
        bad += MPI_File_write_ordered(file, out, 10, MPI_INT, MPI_STATUS_IGNORE) != 0;
        bad += MPI_File_write_shared(file, out, 10, MPI_INT, MPI_STATUS_IGNORE) != 0;
        MPI_Barrier(comms[me]);
        bad += MPI_File_get_position_shared(file, &position) != 0 || position != 20 * size;
        MPI_Barrier(comms[me]);
    }
    MPI_Type_free(&every);
    bad += MPI_File_close(&file) != 0;
    free(out);
    free(in);
    wrong[me] = bad;
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    if (rank == 0) choose_name();
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(wrong[i] == 0, "thread %d: %d", i, wrong[i]);
        OK(MPI_Comm_free(&comms[i]));
    }
    return finish();
}
