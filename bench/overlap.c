/* How much of its time a rank keeps for computing while a message moves: the host-overhead test
 * of the Sandia micro-benchmarks.
 *
 * The computing rank starts the operation, works without any MPI call, and waits. Three times are
 * measured, in turn, of the same timed part:
 *     base       of an iteration without work
 *     alone      of the work without a message
 *     together   of an iteration with work
 * The work is increased from base on until an iteration takes at least DOMINATED times base, and then, up to HIDING times base,
 * if more of it makes the message cost less: a message that one side moves alone takes longer than one
 * that both move, and is hidden only by work that lasts as long. Then
 *     overhead = together - alone            availability = 1 - overhead / base
 * Where the work slows the transfer down, availability is below zero, and is reported as it is.
 *
 * The receive is posted before the timed part, always: the receiver posts it, and then sends an
 * empty message, the token, which the other side waits for before it sends. So the receiver's
 * timed part is from the token's sending to the end of MPI_Wait; the sender's is from the token's
 * arrival, with MPI_Isend and MPI_Wait in it. */
#include "pair.h"
#include "place.h"
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN = 7, DATA = 8, WARM_UP = 100, MOST_ITERATIONS = 2000, OFTEN = 2 };
static const double DOMINATED = 2, GROWTH = 1.3, MOST_WORK = 50, HIDING = 8, LESS = 0.1;

static const long overlap_sizes[] = {1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304};

/* One iteration with `steps` of work; returns the seconds of its timed part. */
typedef double (*iteration)(pair *p, long steps);

static double receiving(pair *p, long steps)
{
    int count = (int)p->size;
    size_t at = advance(p);
    if (p->me == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TOKEN, p->comm, MPI_STATUS_IGNORE);
        MPI_Send(p->send + at, count, MPI_BYTE, 0, DATA, p->comm);
        return 0;
    }
    MPI_Request request;
    MPI_Irecv(p->receive + at, count, MPI_BYTE, 1, DATA, p->comm, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 1, TOKEN, p->comm);
    double start = now();
    work(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return now() - start;
}

static double sending(pair *p, long steps)
{
    int count = (int)p->size;
    size_t at = advance(p);
    MPI_Request request;
    if (p->me == 1) {
        MPI_Irecv(p->receive + at, count, MPI_BYTE, 0, DATA, p->comm, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TOKEN, p->comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return 0;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 1, TOKEN, p->comm, MPI_STATUS_IGNORE);
    double start = now();
    MPI_Isend(p->send + at, count, MPI_BYTE, 1, DATA, p->comm, &request);
    work(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return now() - start;
}

static double exchange(pair *p, long steps, int written)
{
    int count = (int)p->size;
    size_t at = advance(p);
    MPI_Request requests[2];
    MPI_Irecv(p->receive + at, count, MPI_BYTE, p->other, DATA, p->comm, &requests[0]);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, p->other, TOKEN, NULL, 0, MPI_BYTE, p->other, TOKEN, p->comm,
                 MPI_STATUS_IGNORE);
    double start = now();
    if (written)
        make(p->send + at, p->size);
    MPI_Isend(p->send + at, count, MPI_BYTE, p->other, DATA, p->comm, &requests[1]);
    work(steps);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (written)
        use(p->receive + at, p->size);
    return now() - start;
}

static double exchanging(pair *p, long steps)
{
    return exchange(p, steps, 0);
}

/* With messages that are made before and used after: that they lie in the other core's cache then is a part of what they cost. */
static double exchanging_written(pair *p, long steps)
{
    return exchange(p, steps, 1);
}

static double working(pair *p, long steps)
{
    (void)p;
    double start = now();
    work(steps);
    return now() - start;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds per iteration, of the slower of the ranks that compute; the same at both. The middle half of
 * the iterations counts: one that lost its core for a moment must not decide. */
static double mean(iteration run, pair *p, long iterations, long steps)
{
    static double times[MOST_ITERATIONS];
    for (long i = 0; i < iterations; i++)
        times[i] = run(p, steps);
    qsort(times, (size_t)iterations, sizeof times[0], ascending);
    long cut = iterations / 4;
    double mine = 0, slower;
    for (long i = cut; i < iterations - cut; i++)
        mine += times[i] / (double)(iterations - 2 * cut);
    MPI_Allreduce(&mine, &slower, 1, MPI_DOUBLE, MPI_MAX, p->comm);
    return slower;
}

/* The middle one of three, that of how much work there is to be. */
static double usual(iteration run, pair *p, long iterations, long steps)
{
    double a = mean(run, p, iterations, steps), b = mean(run, p, iterations, steps),
           c = mean(run, p, iterations, steps);
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Sorts and returns the middle one. */
static double median(double *values, long count)
{
    qsort(values, (size_t)count, sizeof values[0], ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Seconds that the message costs beside so much work. */
static double cost(iteration run, pair *p, long iterations, long steps)
{
    return usual(run, p, iterations, steps) - usual(working, p, iterations, steps);
}

/* How much work makes an iteration DOMINATED times as long as one without, and hides of the message
 * what can be hidden. */
static long enough_work(iteration run, pair *p, long iterations, double base)
{
    static const long probe = 100000;
    double per_step = usual(working, p, 3, probe) / (double)probe;
    double wanted = base;
    while (wanted < MOST_WORK * base &&
           usual(run, p, iterations, (long)(wanted / per_step)) < DOMINATED * base)
        wanted *= GROWTH;
    /* The cost may rise before it falls: by a way that takes longer, and is not hidden yet. */
    double least = cost(run, p, iterations, (long)(wanted / per_step));
    for (double more = 2 * wanted; more < 2 * HIDING * base; more *= 2) {
        double then = cost(run, p, iterations, (long)(more / per_step));
        if (then < least - LESS * base) {
            least = then;
            wanted = more;
        }
    }
    return (long)(wanted / per_step) + 1;
}

/* As it is with so much work in each iteration. */
static void tell(const char *name, iteration run, pair *p, long iterations, long steps)
{
    long batches = opt.batches;
    double bases[MAX_BATCHES], works[MAX_BATCHES], overheads[MAX_BATCHES], kept[MAX_BATCHES];
    place_begin();
    for (long i = 0; i < batches; i++) {
        place_look(p->comm);
        bases[i] = mean(run, p, iterations, 0);
        works[i] = mean(working, p, iterations, steps);
        overheads[i] = mean(run, p, iterations, steps) - works[i];
        kept[i] = 100 * (1 - overheads[i] / bases[i]);
    }
    place_look(p->comm);
    if (p->me != 0)
        return;
    double availability = median(kept, batches), overhead = 1e6 * median(overheads, batches);
    printf("%s %ld %.6g %% low=%.6g high=%.6g base_us=%.4g work_us=%.4g batches=%ld iterations=%ld "
           "ranks=%d",
           name, p->size, availability, kept[0], kept[batches - 1], 1e6 * median(bases, batches),
           1e6 * median(works, batches), batches, iterations, world_size);
    print_way(place_seen());
    printf("\n%s_overhead %ld %.6g us low=%.6g high=%.6g", name, p->size, overhead,
           1e6 * overheads[0], 1e6 * overheads[batches - 1]);
    print_way(place_seen());
    printf("\n");
    fflush(stdout);
}

/* Whether this rank gets a message in such an iteration. */
static int receives(iteration run, int rank)
{
    return (run != receiving && run != sending) || (run == receiving) == (rank == 0);
}

static void point(const char *name, iteration run, pair *p)
{
    size_t at = p->next * p->slot_bytes;
    memset(p->receive + at, 0, (size_t)p->size);
    mean(run, p, 1, 0);
    if (receives(run, p->me))
        check(name, p->receive + at, (size_t)p->size, at, (unsigned)p->other);
    mean(run, p, WARM_UP, 0);

    long steps;
    int often = 0;
    do {
        /* A batch is one of each kind: base, work alone, and both together. */
        double base = usual(run, p, 10, 0), batch = 1e-3 * (double)opt.time_ms / (double)opt.batches;
        double fitting = batch / ((1 + 2 * DOMINATED) * base);
        long iterations = fitting > MOST_ITERATIONS ? MOST_ITERATIONS : fitting < 1 ? 1 : (long)fitting;
        base = usual(run, p, iterations, 0);
        steps = enough_work(run, p, iterations, base);
        tell(name, run, p, iterations, steps);
    } while (++often < OFTEN && place_again(p->comm));
    /* What came while the receiver computed must be right, too. */
    at = p->next * p->slot_bytes;
    memset(p->receive + at, 0, (size_t)p->size);
    mean(run, p, 1, steps);
    if (receives(run, p->me))
        check(name, p->receive + at, (size_t)p->size, at, (unsigned)p->other);
}

typedef struct {
    const char *name;
    iteration run;
    origin from;
    int off_cache;
} description;

static void run_pair(MPI_Comm comm, const void *what)
{
    const description *d = what;
    const long *sizes = opt.sizes ? opt.sizes : overlap_sizes;
    int count = opt.sizes ? opt.size_count : (int)(sizeof overlap_sizes / sizeof overlap_sizes[0]);
    size_t pool = d->off_cache ? (size_t)opt.pool_mib << 19 : 0; /* half to send, half to receive */
    size_t bytes = pool;
    for (int i = 0; i < count; i++)
        if (slot_of(sizes[i]) > bytes && !pool)
            bytes = slot_of(sizes[i]);
    pair p = {.comm = comm, .me = world_rank, .other = 1 - world_rank};
    pair_allocate(&p, bytes, d->from);
    for (int i = 0; i < count; i++) {
        lay_out(&p, sizes[i], pool);
        point(d->name, d->run, &p);
    }
    pair_free(&p);
}

static void run(const description *d)
{
    with_pair(d->name, run_pair, d);
}

void run_overlap_recv(void)
{
    run(&(description){"overlap_recv", receiving, HEAP, 0});
}

void run_overlap_recv_alloc(void)
{
    run(&(description){"overlap_recv_alloc", receiving, ALLOCATED, 0});
}

void run_overlap_recv_off(void)
{
    run(&(description){"overlap_recv_off", receiving, HEAP, 1});
}

void run_overlap_send(void)
{
    run(&(description){"overlap_send", sending, HEAP, 0});
}

void run_overlap_send_alloc(void)
{
    run(&(description){"overlap_send_alloc", sending, ALLOCATED, 0});
}

void run_overlap_both(void)
{
    run(&(description){"overlap_both", exchanging, HEAP, 0});
}

void run_overlap_both_written(void)
{
    run(&(description){"overlap_both_written", exchanging_written, HEAP, 0});
}

void run_overlap_both_alloc(void)
{
    run(&(description){"overlap_both_alloc", exchanging, ALLOCATED, 0});
}
