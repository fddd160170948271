/* Collectives for tern-bench model: the same program runs in virtual time, and on this machine.
 *
 *   model [-t ROUNDS] OPERATION:BYTES:BEFORE:CALLS...
 *
 * BYTES are those of a vector, or of one rank's block. Each cell makes BEFORE calls that do not count, and then CALLS.
 * Without -t, MPI_Pcontrol tells the model's server of each call: 1 in front of it, 2 behind it. It is a meeting of all ranks that costs
 * nothing there. With -t, rank 0 prints OPERATION BYTES and the quickest of the rounds, in microseconds for a call of the slowest rank. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

struct cell {
    char operation[32];
    long bytes;
    int before, calls;
    void *from, *to;
};

static void call(const struct cell *cell)
{
    int count = (int)cell->bytes, elements = (int)(cell->bytes / sizeof(double));
    MPI_Comm world = MPI_COMM_WORLD;

    if (!strcmp(cell->operation, "barrier"))
        MPI_Barrier(world);
    else if (!strcmp(cell->operation, "bcast"))
        MPI_Bcast(cell->from, count, MPI_BYTE, 0, world);
    else if (!strcmp(cell->operation, "reduce"))
        MPI_Reduce(cell->from, cell->to, elements, MPI_DOUBLE, MPI_SUM, 0, world);
    else if (!strcmp(cell->operation, "allreduce"))
        MPI_Allreduce(cell->from, cell->to, elements, MPI_DOUBLE, MPI_SUM, world);
    else if (!strcmp(cell->operation, "allgather"))
        MPI_Allgather(cell->from, count, MPI_BYTE, cell->to, count, MPI_BYTE, world);
    else if (!strcmp(cell->operation, "gather"))
        MPI_Gather(cell->from, count, MPI_BYTE, cell->to, count, MPI_BYTE, 0, world);
    else if (!strcmp(cell->operation, "scatter"))
        MPI_Scatter(cell->to, count, MPI_BYTE, cell->from, count, MPI_BYTE, 0, world);
    else if (!strcmp(cell->operation, "alltoall"))
        MPI_Alltoall(cell->from, count, MPI_BYTE, cell->to, count, MPI_BYTE, world);
    else
        MPI_Abort(world, 2);
}

/* A reduction of ones gives the number of ranks. */
static void check(const struct cell *cell)
{
    double *from = cell->from, *to = cell->to;
    long at, elements = cell->bytes / (long)sizeof(double);
    int all = !strcmp(cell->operation, "allreduce");

    if (!all && strcmp(cell->operation, "reduce"))
        return;
    for (at = 0; at < elements; at++)
        from[at] = 1;
    call(cell);
    for (at = 0; at < elements && (all || rank == 0); at++) {
        if (to[at] != size) {
            fprintf(stderr, "%s of %ld bytes: element %ld is %g\n", cell->operation, cell->bytes, at, to[at]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* Microseconds for a call of the slowest rank, in one round. */
static double measure(const struct cell *cell)
{
    double time, slowest;
    int at;

    MPI_Barrier(MPI_COMM_WORLD);
    time = MPI_Wtime();
    for (at = 0; at < cell->calls; at++)
        call(cell);
    time = (MPI_Wtime() - time) / cell->calls;
    MPI_Allreduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest * 1e6;
}

static void run(struct cell *cell, int rounds)
{
    int at, blocks = !strcmp(cell->operation, "allgather") || !strcmp(cell->operation, "gather") ||
                     !strcmp(cell->operation, "scatter") || !strcmp(cell->operation, "alltoall");
    int many = !strcmp(cell->operation, "alltoall");
    size_t bytes = cell->bytes > 8 ? cell->bytes : 8;

    cell->from = calloc(many ? size : 1, bytes);
    cell->to = calloc(blocks ? size : 1, bytes);
    if (!cell->from || !cell->to)
        MPI_Abort(MPI_COMM_WORLD, 3);
    check(cell);
    for (at = 0; at < cell->before; at++)
        call(cell);
    if (rounds > 0) {
        double quickest = measure(cell), time;

        for (at = 1; at < rounds; at++) {
            time = measure(cell);
            quickest = time < quickest ? time : quickest;
        }
        if (rank == 0)
            printf("%s %ld %.4f\n", cell->operation, cell->bytes, quickest);
    }
    for (at = 0; at < cell->calls && rounds == 0; at++) {
        MPI_Pcontrol(1);
        call(cell);
        MPI_Pcontrol(2);
    }
    free(cell->from);
    free(cell->to);
}

int main(int argc, char **argv)
{
    int at, rounds = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (at = 1; at < argc; at++) {
        struct cell cell;

        if (!strcmp(argv[at], "-t") && at + 1 < argc) {
            rounds = atoi(argv[++at]);
            continue;
        }
        if (sscanf(argv[at], "%31[a-z]:%ld:%d:%d", cell.operation, &cell.bytes, &cell.before, &cell.calls) != 4) {
            fprintf(stderr, "model: what is %s?\n", argv[at]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        run(&cell, rounds);
    }
    MPI_Finalize();
    return 0;
}
