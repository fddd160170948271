// Many parts of the library, from several threads: nothing of it is left with any of them.
#include "ends.h"
#include <pthread.h>

static void *talk(void *number)
{
    int tag = (int)(long)number, value = tag, got = -1;
    MPI_Sendrecv(&value, 1, MPI_INT, (own_rank + 1) % ranks, tag, &got, 1, MPI_INT, (own_rank + ranks - 1) % ranks, tag, MPI_COMM_WORLD,
        MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, child, comm;
    MPI_Request request;
    MPI_File file;
    pthread_t threads[3];
    static char large[1 << 21], into[1 << 21];
    int value = 1;
    begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    for (long at = 0; at < 3; at++) pthread_create(&threads[at], NULL, talk, (void *)(at + 1));
    for (int at = 0; at < 3; at++) pthread_join(threads[at], NULL);
    MPI_Sendrecv(large, sizeof large, MPI_CHAR, (own_rank + 1) % ranks, 9, into, sizeof into, MPI_CHAR, (own_rank + ranks - 1) % ranks, 9,
        MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoall(large, 1000, MPI_CHAR, into, 1000, MPI_CHAR, comm);
    if (argc > 1 && MPI_File_open(comm, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS) {
        MPI_File_write_ordered(file, large, 1000, MPI_CHAR, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    MPI_Comm_free(&comm);
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
    usleep(200000);
    if (own_rank == 0) MPI_Send(&value, 1, MPI_INT, 0, 0, child);
    MPI_Comm_disconnect(&child);
    meet_and_finalize();
    return 0;
}
