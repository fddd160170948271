/* A program that computes and calls nothing of MPI's. */
#ifndef TERN_TEST_COMPUTE_H
#define TERN_TEST_COMPUTE_H

#include <time.h>

static inline void compute(long microseconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

#endif
