/* How a figure comes about: batches of iterations behind a barrier, the slowest rank counts, and
 * the median of the batches is the result. All bounded by a time budget, because the libraries
 * differ by factors of ten thousand where ranks outnumber cores. */
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MIN_BATCHES = 3, OFTEN = 4, WARM = 250, WARM_BUDGETS = 10 };

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_batch(MPI_Comm comm, operation run, void *context, long iterations)
{
    MPI_Barrier(comm);
    place_look(comm);
    double start = now();
    run(context, iterations);
    return now() - start;
}

/* What rank 0 wants next: another calibration of `iterations`, or, when `batches` is set, the
 * measurement itself. */
typedef struct {
    long iterations;
    long batches;
} plan;

static plan next_plan(long iterations, double seconds)
{
    double budget = 1e-3 * (double)opt.time_ms;
    double batch = budget / (double)opt.batches;
    if (seconds < batch / 2) {
        double factor = batch / (seconds > 1e-9 ? seconds : 1e-9);
        long more = (long)((double)iterations * (factor > 10 ? 10 : factor));
        return (plan){more > iterations ? more : iterations + 1, 0};
    }
    double per_iteration = seconds / (double)iterations;
    long fitting = (long)(batch / per_iteration);
    if (fitting >= 1)
        return (plan){fitting, opt.batches};
    long batches = (long)(budget / per_iteration);
    if (batches < MIN_BATCHES)
        batches = per_iteration > 10 * budget ? 1 : MIN_BATCHES;
    return (plan){1, batches < opt.batches ? batches : opt.batches};
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static figure time_batches(MPI_Comm comm, operation run, void *context, plan p)
{
    double mine[MAX_BATCHES], slowest[MAX_BATCHES] = {0};
    place_begin();
    for (int i = 0; i < p.batches; i++)
        mine[i] = time_batch(comm, run, context, p.iterations) / (double)p.iterations;
    MPI_Barrier(comm);
    place_look(comm);
    MPI_Reduce(mine, slowest, (int)p.batches, MPI_DOUBLE, MPI_MAX, 0, comm);

    qsort(slowest, (size_t)p.batches, sizeof slowest[0], ascending);
    long middle = p.batches / 2;
    double median = p.batches % 2 ? slowest[middle] : (slowest[middle - 1] + slowest[middle]) / 2;
    return (figure){median, slowest[0], slowest[p.batches - 1], p.iterations, (int)p.batches, place_seen(), NULL};
}

/* What comes first is not measured: it connects, allocates and touches, and libraries that register or share buffers which
 * are used again do so. As many iterations as that takes, but not many times longer than the measurement itself. */
static void warm_up(MPI_Comm comm, operation run, void *context)
{
    time_batch(comm, run, context, 1);
    double seconds = time_batch(comm, run, context, 1), fitting = WARM_BUDGETS * 1e-3 * (double)opt.time_ms / seconds;
    long iterations = fitting < WARM ? (long)fitting : WARM;
    MPI_Bcast(&iterations, 1, MPI_LONG, 0, comm);
    if (iterations > 0)
        time_batch(comm, run, context, iterations);
}

figure measure(MPI_Comm comm, operation run, void *context)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    plan p = {1, 0};
    warm_up(comm, run, context);
    while (p.batches == 0) {
        /* Twice, and the shorter counts: a rank that loses its core once must not decide. */
        double seconds = time_batch(comm, run, context, p.iterations);
        double again = time_batch(comm, run, context, p.iterations);
        if (rank == 0)
            p = next_plan(p.iterations, again < seconds ? again : seconds);
        MPI_Bcast(&p, 2, MPI_LONG, 0, comm);
    }

    static figure all[OFTEN];
    int count = 0;
    do {
        all[count] = time_batches(comm, run, context, p);
        all[count].before = count > 0 ? &all[count - 1] : NULL;
    } while (++count < OFTEN && place_again(comm));
    return all[count - 1];
}

void report(const char *name, long size, double median, double low, double high, const char *unit,
            const figure *f)
{
    printf("%s %ld %.6g %s low=%.6g high=%.6g batches=%d iterations=%ld ranks=%d", name, size,
           median, unit, low, high, f->batches, f->iterations, world_size);
    print_way(f->line);
    printf("\n");
    fflush(stdout);
}

void report_us(const char *name, long size, const figure *f, double iterations_per_operation)
{
    double scale = 1e6 * iterations_per_operation;
    for (; f != NULL; f = f->before)
        report(name, size, f->median * scale, f->low * scale, f->high * scale, "us", f);
}

void report_rate(const char *name, long size, const figure *f, double amount, const char *unit)
{
    for (; f != NULL; f = f->before)
        report(name, size, amount / f->median, amount / f->high, amount / f->low, unit, f);
}

void run_bare(const char *name, operation run)
{
    figure f = measure(MPI_COMM_WORLD, run, NULL);
    if (world_rank == 0)
        report_us(name, 0, &f, 1);
}
