/* An alternating-direction solver in the manner of NAS SP: sweeps along two directions of a square that
 * is cut into P x P cells for P ranks. A rank has one cell of each column and of each row, so that all
 * work at every stage of a sweep. A stage works on what does not need its neighbour's boundary, waits
 * for it, works on what does, and sends its own boundary on. Each receive is posted as soon as the one
 * before it is there: the neighbour sends when this rank ends its stage, and then it is too late.
 *
 * The size is that of a boundary in bytes. Each stage works about WORK times as long as a message takes
 * alone, measured at the beginning. */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA = 13 };
static const double WORK = 2.0;

typedef struct {
    long count;     /* numbers of a boundary */
    int next, back; /* neighbours in the ring of ranks */
    double *arrived[2], *boundary[2];
    long before, after; /* work at a stage: what needs no boundary, and what does */
    int turn;
    double waited;
} solver;

/* Posts the receive of the next boundary, for which the other buffer is free. */
static void expect(solver *s, int from, MPI_Request *received)
{
    s->turn ^= 1;
    MPI_Irecv(s->arrived[s->turn], (int)s->count, MPI_DOUBLE, from, DATA, MPI_COMM_WORLD, received);
}

static void timed_wait(solver *s, MPI_Request *request)
{
    double start = now();
    MPI_Wait(request, MPI_STATUS_IGNORE);
    s->waited += now() - start;
}

/* What a stage hands on follows from what came: the sum grows by one at each. */
static void stage(solver *s, int from, int to, int last, MPI_Request *received, MPI_Request *sent)
{
    double *arrived = s->arrived[s->turn], *boundary = s->boundary[s->turn];
    work(s->before);
    timed_wait(s, received);
    if (!last)
        expect(s, from, received);
    for (long i = 0; i < s->count; i++)
        boundary[i] = arrived[i] + 1;
    work(s->after);
    /* The send of the stage before last has this boundary; that of the last one is under way. */
    timed_wait(s, sent);
    if (!last)
        MPI_Isend(boundary, (int)s->count, MPI_DOUBLE, to, DATA, MPI_COMM_WORLD, sent);
}

static void sweep(solver *s, int from, int to)
{
    MPI_Request sent = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;
    /* The first stage needs nothing. */
    memset(s->arrived[s->turn], 0, (size_t)s->count * sizeof(double));
    for (int cell = 0; cell < world_size; cell++)
        stage(s, from, to, cell == world_size - 1, &received, &sent);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (s->boundary[s->turn][s->count - 1] != world_size)
        fail("solver: %g instead of %d", s->boundary[s->turn][s->count - 1], world_size);
}

static void solver_steps(void *context, long iterations)
{
    solver *s = context;
    for (long i = 0; i < iterations; i++) {
        sweep(s, s->back, s->next);
        sweep(s, s->next, s->back);
    }
}

/* Seconds of a stage without work, in the median. */
static double alone(solver *s)
{
    figure f = measure(MPI_COMM_WORLD, solver_steps, s);
    double seconds = f.median / (2 * world_size);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return seconds;
}

void run_solver(void)
{
    static const long usual[] = {4096, 16384, 65536, 262144};
    const long *sizes = opt.sizes ? opt.sizes : usual;
    int count = opt.sizes ? opt.size_count : 4;
    if (world_size < 2)
        fail("solver needs two ranks");
    for (int i = 0; i < count; i++) {
        solver s = {.count = sizes[i] / (long)sizeof(double)};
        s.next = (world_rank + 1) % world_size;
        s.back = (world_rank + world_size - 1) % world_size;
        for (int turn = 0; turn < 2; turn++) {
            s.arrived[turn] = memory((size_t)sizes[i]);
            s.boundary[turn] = memory((size_t)sizes[i]);
        }
        /* The work is the same for all settings that are compared, if --work-us says how much. */
        double seconds = opt.work_us > 0 ? 1e-6 * (double)opt.work_us : WORK * alone(&s);
        double steps = seconds / work_step();
        s.before = s.after = (long)(0.5 * steps);
        s.waited = 0;
        double start = now();
        figure f = measure(MPI_COMM_WORLD, solver_steps, &s);
        double share = 100 * s.waited / (now() - start);
        if (world_rank == 0) {
            report_us("solver", sizes[i], &f, 1);
            report("solver_waits", sizes[i], share, share, share, "%", &f);
        }
        for (int turn = 0; turn < 2; turn++)
            free(s.arrived[turn]), free(s.boundary[turn]);
    }
}
