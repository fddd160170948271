/* How often buffers are used again: for libraries that treat frequently used ones otherwise.
 *
 * spectrum    N buffers, of which buffer i is sent from i times, so that every frequency occurs; back to back, or with --apart on
 *             pages of their own
 * gradient    conjugate gradients on a grid: the same few boundaries, again and again
 * wavefront   planes that are swept from corner to corner, once: each boundary is sent from once
 *
 * Beside its time, each reports the time that is spent in sending (MPI_Isend and the wait for it), by message: NAME_send.
 * A library may leave the message where it is until that wait, so programs wait as late as they can. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DATA = 11, ANSWER = 12, PAGE = 4096 };

/* Time in sends. */
static double sending;
static long sent;

static void timed_start(const void *buffer, int count, MPI_Datatype type, int to, MPI_Comm comm, MPI_Request *request)
{
    double start = now();
    MPI_Isend(buffer, count, type, to, DATA, comm, request);
    sending += now() - start;
    sent++;
}

static void timed_wait(int count, MPI_Request *requests)
{
    double start = now();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    sending += now() - start;
}

/* Reports NAME and NAME_send; `iterations` runs were measured. Collective over the world. */
static void tell(const char *name, const char *send_name, long size, const figure *f)
{
    double mine[2] = {sending, (double)sent}, all[2];
    MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank != 0)
        return;
    double each = 1e6 * all[0] / (all[1] > 0 ? all[1] : 1);
    report_us(name, size, f, 1);
    report(send_name, size, each, each, each, "us", f);
}

/* --- spectrum --- */

typedef struct {
    long size, count;
    size_t step; /* from one buffer to the next */
    char *buffers, *to;
} spectrum;

/* In round r the last r buffers are used once each: so buffer i of N is used i times. Each message is answered. */
static void spectrum_round(spectrum *s)
{
    for (long round = 1; round <= s->count; round++)
        for (long i = s->count - round; i < s->count; i++) {
            if (world_rank == 0) {
                MPI_Request request;
                timed_start(s->buffers + (size_t)i * s->step, (int)s->size, MPI_BYTE, 1, MPI_COMM_WORLD, &request);
                MPI_Recv(NULL, 0, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                timed_wait(1, &request);
            } else {
                MPI_Recv(s->to, (int)s->size, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(NULL, 0, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
            }
        }
}

/* One round through all of them, timed as a whole: what is learned on the way belongs to it. */
void run_spectrum(void)
{
    static const long usual[] = {1024, 4096, 8192};
    const long *sizes = opt.sizes ? opt.sizes : usual;
    int count = opt.sizes ? opt.size_count : 3;
    if (world_size < 2)
        fail("spectrum needs two ranks");
    for (int i = 0; i < count; i++) {
        spectrum s = {.size = sizes[i], .count = opt.buffers};
        sending = 0, sent = 0;
        double seconds = 0;
        if (world_rank < 2) {
            s.step = opt.apart ? ((size_t)s.size + PAGE - 1) / PAGE * PAGE : (size_t)s.size;
            s.buffers = memory(s.step * (size_t)s.count);
            s.to = memory((size_t)s.size);
            fill(s.buffers, s.step * (size_t)s.count, 0);
            double start = now();
            spectrum_round(&s);
            seconds = now() - start;
            if (world_rank == 1)
                check("spectrum", s.to, (size_t)s.size, (size_t)(s.count - 1) * s.step, 0);
            free(s.buffers);
            free(s.to);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        double messages = (double)s.count * ((double)s.count + 1) / 2;
        figure f = {seconds / messages, seconds / messages, seconds / messages, (long)messages, 1};
        tell("spectrum", "spectrum_send", s.size, &f);
    }
}

/* --- gradient --- */

/* Rows of a square grid of `width` columns, with a row of the neighbour above and one below. */
typedef struct {
    long width, rows;
    int up, down;
    double *x, *r, *p, *q;
    double rho;
    MPI_Request sends[2];
} gradient;

static double *row(const gradient *g, double *field, long number)
{
    return field + (number + 1) * g->width;
}

static double dot(const gradient *g, const double *a, const double *b)
{
    double mine = 0, all;
    for (long i = g->width; i < (g->rows + 1) * g->width; i++)
        mine += a[i] * b[i];
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* Exchanges the boundaries. Its sends are waited for when what they send is about to change. */
static void boundaries(gradient *g, double *field)
{
    MPI_Request requests[2];
    g->sends[0] = g->sends[1] = MPI_REQUEST_NULL;
    int count = (int)g->width;
    MPI_Irecv(row(g, field, -1), count, MPI_DOUBLE, g->up, DATA, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(row(g, field, g->rows), count, MPI_DOUBLE, g->down, DATA, MPI_COMM_WORLD, &requests[1]);
    if (g->up != MPI_PROC_NULL)
        timed_start(row(g, field, 0), count, MPI_DOUBLE, g->up, MPI_COMM_WORLD, &g->sends[0]);
    if (g->down != MPI_PROC_NULL)
        timed_start(row(g, field, g->rows - 1), count, MPI_DOUBLE, g->down, MPI_COMM_WORLD, &g->sends[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* q = A p, with the five-point Laplacian, and zero outside of the grid. */
static void multiply(gradient *g)
{
    boundaries(g, g->p);
    for (long i = 0; i < g->rows; i++) {
        const double *above = row(g, g->p, i - 1), *here = row(g, g->p, i), *below = row(g, g->p, i + 1);
        double *to = row(g, g->q, i);
        for (long j = 0; j < g->width; j++)
            to[j] = 4 * here[j] - above[j] - below[j] - (j > 0 ? here[j - 1] : 0) -
                    (j + 1 < g->width ? here[j + 1] : 0);
    }
}

static void restart(gradient *g)
{
    long cells = (g->rows + 2) * g->width;
    memset(g->x, 0, (size_t)cells * sizeof(double));
    for (long i = 0; i < cells; i++)
        g->p[i] = g->r[i] = i >= g->width && i < (g->rows + 1) * g->width ? 1.0 : 0.0;
    g->rho = dot(g, g->r, g->r);
}

static void gradient_steps(void *context, long iterations)
{
    gradient *g = context;
    for (long step = 0; step < iterations; step++) {
        multiply(g);
        double alpha = g->rho / dot(g, g->p, g->q);
        for (long i = g->width; i < (g->rows + 1) * g->width; i++) {
            g->x[i] += alpha * g->p[i];
            g->r[i] -= alpha * g->q[i];
        }
        double rho = dot(g, g->r, g->r), beta = rho / g->rho;
        g->rho = rho;
        /* From here on what was sent changes. */
        timed_wait(2, g->sends);
        if (rho < 1e-20) {
            restart(g);
            continue;
        }
        for (long i = g->width; i < (g->rows + 1) * g->width; i++)
            g->p[i] = g->r[i] + beta * g->p[i];
    }
}

void run_gradient(void)
{
    static const long usual[] = {2048, 8192};
    const long *sizes = opt.sizes ? opt.sizes : usual;
    int count = opt.sizes ? opt.size_count : 2;
    for (int i = 0; i < count; i++) {
        gradient g = {.width = sizes[i] / (long)sizeof(double), .rows = 16};
        g.up = world_rank > 0 ? world_rank - 1 : MPI_PROC_NULL;
        g.down = world_rank + 1 < world_size ? world_rank + 1 : MPI_PROC_NULL;
        size_t bytes = (size_t)((g.rows + 2) * g.width) * sizeof(double);
        g.x = memory(bytes), g.r = memory(bytes), g.p = memory(bytes), g.q = memory(bytes);
        restart(&g);
        double before = g.rho;
        gradient_steps(&g, 200);
        if (!(g.rho < before))
            fail("gradient: the residual grew from %g to %g", before, g.rho);
        sending = 0, sent = 0;
        figure f = measure(MPI_COMM_WORLD, gradient_steps, &g);
        tell("gradient", "gradient_send", sizes[i], &f);
        free(g.x), free(g.r), free(g.p), free(g.q);
    }
}

/* --- wavefront --- */

enum { PLANES = 256, FIRST_PLANES = 16 };

typedef struct {
    long count; /* numbers of a boundary */
    int west, east, north, south;
    double *from_west, *from_north;
} wavefront;

/* From one corner to the other: what a plane hands on is what it got, and one more. Every plane has boundaries of its
 * own. Returns the last number of the last plane. */
static double wavefront_sweep(wavefront *w, long planes)
{
    int count = (int)w->count;
    size_t bytes = (size_t)planes * (size_t)w->count * sizeof(double);
    double *east_sides = memory(bytes), *south_sides = memory(bytes);
    MPI_Request *sends = memory(2 * (size_t)planes * sizeof(MPI_Request));
    for (long plane = 0; plane < planes; plane++) {
        double *east = east_sides + plane * w->count, *south = south_sides + plane * w->count;
        sends[2 * plane] = sends[2 * plane + 1] = MPI_REQUEST_NULL;
        memset(w->from_west, 0, (size_t)count * sizeof(double));
        memset(w->from_north, 0, (size_t)count * sizeof(double));
        MPI_Recv(w->from_west, count, MPI_DOUBLE, w->west, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(w->from_north, count, MPI_DOUBLE, w->north, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (long i = 0; i < count; i++) {
            double more = (w->from_west[i] > w->from_north[i] ? w->from_west[i] : w->from_north[i]) + 1;
            east[i] = south[i] = more;
        }
        if (w->east != MPI_PROC_NULL)
            timed_start(east, count, MPI_DOUBLE, w->east, MPI_COMM_WORLD, &sends[2 * plane]);
        if (w->south != MPI_PROC_NULL)
            timed_start(south, count, MPI_DOUBLE, w->south, MPI_COMM_WORLD, &sends[2 * plane + 1]);
    }
    timed_wait(2 * (int)planes, sends);
    double last = east_sides[planes * w->count - 1];
    free(east_sides), free(south_sides), free(sends);
    return last;
}

void run_wavefront(void)
{
    static const long usual[] = {1024, 4096};
    const long *sizes = opt.sizes ? opt.sizes : usual;
    int count = opt.sizes ? opt.size_count : 2;
    int shape[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    MPI_Comm grid;
    MPI_Dims_create(world_size, 2, shape);
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 0, &grid);
    MPI_Cart_coords(grid, world_rank, 2, place);
    for (int i = 0; i < count; i++) {
        wavefront w = {.count = sizes[i] / (long)sizeof(double)};
        MPI_Cart_shift(grid, 0, 1, &w.west, &w.east);
        MPI_Cart_shift(grid, 1, 1, &w.north, &w.south);
        size_t bytes = (size_t)w.count * sizeof(double);
        w.from_west = memory(bytes), w.from_north = memory(bytes);
        /* The first one connects. */
        wavefront_sweep(&w, FIRST_PLANES);
        sending = 0, sent = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now(), got = wavefront_sweep(&w, PLANES);
        MPI_Barrier(MPI_COMM_WORLD);
        double seconds = (now() - start) / PLANES, expected = place[0] + place[1] + 1;
        if (got != expected)
            fail("wavefront: %g instead of %g", got, expected);
        figure f = {seconds, seconds, seconds, PLANES, 1};
        tell("wavefront", "wavefront_send", sizes[i], &f);
        free(w.from_west), free(w.from_north);
    }
    MPI_Comm_free(&grid);
}
