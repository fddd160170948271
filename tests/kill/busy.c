/* Keeps its processes busy for ever in one way or another, so that one of them can be killed.
 * Usage: busy WAY FOLDER    each rank writes its process number to FOLDER/RANK once it is at work */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 8 << 20, IRREGULAR = 512 };
static char *out, *in, shared[4096];
static int rank, size;

static void at_work(const char *folder)
{
    char name[4096], ready[4096];
    snprintf(name, sizeof name, "%s/%d.new", folder, rank);
    snprintf(ready, sizeof ready, "%s/%d", folder, rank);
    FILE *file = fopen(name, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    rename(name, ready);
}

static void one_step(const char *way, int step)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (!strcmp(way, "long")) {
        MPI_Sendrecv(out, LONG, MPI_BYTE, right, 0, in, LONG, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "short")) {
        MPI_Sendrecv(out, 8, MPI_BYTE, right, 0, in, 8, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "irregular")) {
        /* By regions of segments: most of the time one process is in the memory of another. */
        static MPI_Datatype type = MPI_DATATYPE_NULL;
        if (type == MPI_DATATYPE_NULL) {
            MPI_Aint at[IRREGULAR];
            int lengths[IRREGULAR];
            for (int i = 0; i < IRREGULAR; i++) {
                lengths[i] = LONG / IRREGULAR - 8 - i % 3;
                at[i] = (MPI_Aint)i * (LONG / IRREGULAR) + i % 5;
            }
            MPI_Type_create_hindexed(IRREGULAR, lengths, at, MPI_BYTE, &type);
            MPI_Type_commit(&type);
        }
        MPI_Sendrecv(out, 1, type, right, 0, in, 1, type, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "collective")) {
        MPI_Allreduce(out, in, step % 2 ? 1 : 10000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(way, "regions")) {
        /* Most of the time the others are in the memory of rank 0. */
        MPI_Bcast(out, LONG, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Gather(out, LONG / size, MPI_BYTE, in, LONG / size, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Scatter(out, LONG / size, MPI_BYTE, in, LONG / size, MPI_BYTE, 0, MPI_COMM_WORLD);
    } else if (!strcmp(way, "asleep")) {
        /* The first steps are a barrier, then everybody waits for what never comes. */
        if (step < 2) MPI_Barrier(MPI_COMM_WORLD);
        else MPI_Recv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "computing")) {
        /* One is not in MPI at all. */
        if (rank != 1) MPI_Recv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "opening")) {
        /* A file is opened and closed all the time. */
        MPI_File file;
        if (MPI_File_open(MPI_COMM_WORLD, shared, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS)
            MPI_File_close(&file);
    } else if (!strcmp(way, "flood")) {
        /* Rank 0 does not receive, but its progress takes messages in without end. */
        static char message[4096];
        int flag;
        if (rank == 0) MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        else MPI_Send(message, sizeof message, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    } else {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(shared, sizeof shared, "%s/shared", argv[2]);
    out = calloc(1, LONG);
    in = calloc(1, LONG);
    int waits = !strcmp(argv[1], "computing");
    for (int step = 0;; step++) {
        if (step == (waits ? 0 : 2)) at_work(argv[2]);
        one_step(argv[1], step);
    }
}
