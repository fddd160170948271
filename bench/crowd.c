/* What ranks that wait take from those that compute, where they share cores. */
#include "bench.h"
#include "work.h"

#include <stdlib.h>
#include <time.h>

enum { WORKERS = 2, WORK_MS = 20, MEASURING_MS = 150, MEASUREMENTS = 15 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ranks 0 and 1 compute, all others wait for them in a barrier. The share of its time that the slower one of the two
 * keeps, in percent: what the work takes on a core of its own, of what it takes. With more workers than cores that
 * would be less than all of it in any case. */
void run_computing(void)
{
    int worker = world_rank < WORKERS;
    long steps = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (worker) {
        double least = 1;
        for (int i = 0; i < MEASUREMENTS; i++) {
            double step = work_step();
            least = step < least ? step : least;
        }
        steps = (long)(1e-3 * WORK_MS / least);
    } else {
        nanosleep(&(struct timespec){.tv_nsec = MEASURING_MS * 1000000L}, NULL);
    }
    double mine[MAX_BATCHES], slower[MAX_BATCHES] = {0};
    for (long i = 0; i < opt.batches; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now();
        work(steps);
        mine[i] = worker ? (now() - start) / (1e-3 * WORK_MS) : 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(mine, slower, (int)opt.batches, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    qsort(slower, (size_t)opt.batches, sizeof slower[0], ascending);
    figure f = {.iterations = 1, .batches = (int)opt.batches};
    if (world_rank == 0)
        report("computing", 0, 100 / slower[opt.batches / 2], 100 / slower[opt.batches - 1], 100 / slower[0],
               "%", &f);
}
