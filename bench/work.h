/* Work that takes time and nothing else. */
#ifndef TERN_MPI_BENCH_WORK_H
#define TERN_MPI_BENCH_WORK_H

#include "bench.h"

/* Steps of work without memory, so that nothing but time is taken from a transfer; with --idle a sleep as
 * long, which leaves the core to threads that do what a network card would do. */
void work(long steps);

/* Seconds of a step. */
double work_step(void);

#endif
