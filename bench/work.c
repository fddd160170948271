#include "work.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

/* With --idle a step is a nanosecond. */
static void idle(long nanoseconds)
{
    struct timespec t = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* A chain of dependent steps. */
static void busy(long steps)
{
    static uint64_t state = 1;
    uint64_t x = state;
    for (long i = 0; i < steps; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    state = x;
}

void work(long steps)
{
    if (steps <= 0)
        return;
    if (opt.idle)
        idle(steps);
    else
        busy(steps);
}

double work_step(void)
{
    enum { PROBE = 1000000, TRIES = 3 };
    if (opt.idle)
        return 1e-9;
    double best = 1;
    for (int i = 0; i < TRIES; i++) {
        double start = now();
        busy(PROBE);
        double each = (now() - start) / PROBE;
        best = each < best ? each : best;
    }
    return best;
}
