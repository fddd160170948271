/* Communicators are made and freed again. */
#include "bench.h"

/* The parts are two, of every second rank. */
static void comm_split(void *context, long iterations)
{
    (void)context;
    for (long i = 0; i < iterations; i++) {
        MPI_Comm part;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &part);
        MPI_Comm_free(&part);
    }
}

static void comm_dup(void *context, long iterations)
{
    (void)context;
    for (long i = 0; i < iterations; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_free(&copy);
    }
}

void run_comm_split(void)
{
    run_bare("comm_split", comm_split);
}

void run_comm_dup(void)
{
    run_bare("comm_dup", comm_dup);
}
