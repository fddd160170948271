/* Where the cores of ranks 0 and 1 are (place.c). All functions do nothing without --place. */
#ifndef TERN_MPI_BENCH_PLACE_H
#define TERN_MPI_BENCH_PLACE_H

#include "bench.h"

/* Forgets what was seen. */
void place_begin(void);

/* Ranks 0 and 1 look; they have just left a barrier of `comm`. */
void place_look(MPI_Comm comm);

/* What was seen since place_begin(); at rank 0 and 1. */
way place_seen(void);

/* Whether to measure once more: they were not near each other all the time, and now are. Waits for that. Collective
 * over `comm`, in which ranks 0 and 1 are. */
int place_again(MPI_Comm comm);

/* Prints what was seen as a further word of a line. */
void print_way(way w);

#endif
