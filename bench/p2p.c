/* Point-to-point benchmarks between ranks 0 and 1. Further ranks wait in a barrier meanwhile, so
 * that with more ranks than cores the same figures tell what waiting ranks cost the others. */
#include "pair.h"

#include <string.h>

enum { WINDOW = 64, LARGE_WINDOW = 16, LARGE = 65536, WRITTEN_WINDOW = 8, NEIGHBOURS = 4 };

/* Lengths between the powers of two too: halves, rows and edges of real grids are seldom one. */
static const long latency_sizes[] = {0,     8,     64,    256,    1024,    4096,   12288,
                                     16384, 40960, 65536, 262144, 1048576, 4194304};
static const long off_sizes[] = {8,     1024,  4096,   12288,   16384,
                                 40960, 65536, 262144, 1048576, 4194304};
static const long sendrecv_sizes[] = {4096, 12288, 40960, 65536, 262144, 1048576, 4194304};
static const long halo_sizes[] = {8, 1024, 4096, 12288, 16384, 40960, 65536, 262144, 1048576};
static const long written_sizes[] = {64,    1024,  4096,  8192,   12288,
                                     16384, 40960, 65536, 262144, 1048576};
static const long rate_sizes[] = {8};
static const long stream_sizes[] = {8, 1024, 16384, 65536, 1048576};

static void pingpong(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size;
    for (long i = 0; i < iterations; i++) {
        size_t at = advance(p);
        if (p->me == 0) {
            MPI_Send(p->send + at, count, MPI_BYTE, p->other, 1, p->comm);
            MPI_Recv(p->receive + at, count, MPI_BYTE, p->other, 1, p->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(p->receive + at, count, MPI_BYTE, p->other, 1, p->comm, MPI_STATUS_IGNORE);
            MPI_Send(p->send + at, count, MPI_BYTE, p->other, 1, p->comm);
        }
    }
}

/* As `pingpong`, with messages that are made before and used after, which is a part of the time. */
static void pingpong_written(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size;
    for (long i = 0; i < iterations; i++) {
        size_t at = advance(p);
        for (int k = 0; k < 2; k++)
            if (k == p->me) {
                make(p->send + at, p->size);
                MPI_Send(p->send + at, count, MPI_BYTE, p->other, 1, p->comm);
            } else {
                MPI_Recv(p->receive + at, count, MPI_BYTE, p->other, 1, p->comm, MPI_STATUS_IGNORE);
                use(p->receive + at, p->size);
            }
    }
}

static void sendrecv(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size;
    for (long i = 0; i < iterations; i++) {
        size_t at = advance(p);
        MPI_Sendrecv(p->send + at, count, MPI_BYTE, p->other, 1, p->receive + at, count, MPI_BYTE,
                     p->other, 1, p->comm, MPI_STATUS_IGNORE);
    }
}

static void sendrecv_written(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size;
    for (long i = 0; i < iterations; i++) {
        size_t at = advance(p);
        make(p->send + at, p->size);
        MPI_Sendrecv(p->send + at, count, MPI_BYTE, p->other, 1, p->receive + at, count, MPI_BYTE,
                     p->other, 1, p->comm, MPI_STATUS_IGNORE);
        use(p->receive + at, p->size);
    }
}

/* As `pingpong`, with sends that may leave the buffer where it is until they are waited for. */
static void nonblocking(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size;
    MPI_Request sent = MPI_REQUEST_NULL;
    for (long i = 0; i < iterations; i++) {
        size_t at = advance(p);
        if (p->me == 0)
            MPI_Isend(p->send + at, count, MPI_BYTE, p->other, 1, p->comm, &sent);
        MPI_Recv(p->receive + at, count, MPI_BYTE, p->other, 1, p->comm, MPI_STATUS_IGNORE);
        if (p->me == 1)
            MPI_Isend(p->send + at, count, MPI_BYTE, p->other, 1, p->comm, &sent);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
}

/* As `pingpong`, by requests that are made once and started every time. */
static void persistent(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size, first = p->me == 0 ? 0 : 1;
    size_t at = advance(p);
    MPI_Send_init(p->send + at, count, MPI_BYTE, p->other, 1, p->comm, &p->requests[0]);
    MPI_Recv_init(p->receive + at, count, MPI_BYTE, p->other, 1, p->comm, &p->requests[1]);
    for (long i = 0; i < iterations; i++)
        for (int k = 0; k < 2; k++) {
            MPI_Request *request = &p->requests[(first + k) % 2];
            MPI_Start(request);
            MPI_Wait(request, MPI_STATUS_IGNORE);
        }
    MPI_Request_free(&p->requests[0]);
    MPI_Request_free(&p->requests[1]);
}

/* A window of sends from rank 0, answered by one empty message. */
static void windows(pair *p, long iterations, int written)
{
    int count = (int)p->size;
    for (long i = 0; i < iterations; i++) {
        if (written && p->me == 0)
            make(p->send, (long)p->slot_bytes * p->window);
        for (int k = 0; k < p->window; k++) {
            size_t at = (size_t)k * p->slot_bytes;
            if (p->me == 0)
                MPI_Isend(p->send + at, count, MPI_BYTE, 1, 1, p->comm, &p->requests[k]);
            else
                MPI_Irecv(p->receive + at, count, MPI_BYTE, 0, 1, p->comm, &p->requests[k]);
        }
        MPI_Waitall(p->window, p->requests, MPI_STATUSES_IGNORE);
        if (written && p->me == 1)
            use(p->receive, (long)p->slot_bytes * p->window);
        if (p->me == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, p->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, p->comm);
    }
}

static void stream(void *context, long iterations)
{
    windows(context, iterations, 0);
}

/* With messages that are made before and used after, a window at a time, which is a part of the time. */
static void stream_written(void *context, long iterations)
{
    windows(context, iterations, 1);
}

/* What a solver does with its neighbours, each time step: all receives, all sends, one wait. */
static void halo(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size, window = p->window;
    for (long i = 0; i < iterations; i++) {
        for (int k = 0; k < window; k++)
            MPI_Irecv(p->receive + (size_t)k * p->slot_bytes, count, MPI_BYTE, p->other, k, p->comm,
                      &p->requests[k]);
        for (int k = 0; k < window; k++)
            MPI_Isend(p->send + (size_t)k * p->slot_bytes, count, MPI_BYTE, p->other, k, p->comm,
                      &p->requests[window + k]);
        MPI_Waitall(2 * window, p->requests, MPI_STATUSES_IGNORE);
    }
}

static void halo_written(void *context, long iterations)
{
    pair *p = context;
    for (long i = 0; i < iterations; i++) {
        for (int k = 0; k < p->window; k++)
            make(p->send + (size_t)k * p->slot_bytes, p->size);
        halo(p, 1);
        for (int k = 0; k < p->window; k++)
            use(p->receive + (size_t)k * p->slot_bytes, p->size);
    }
}

/* One round with empty receive buffers, then a look at what came. */
static void prove(const char *name, operation run, pair *p)
{
    size_t at = p->next * p->slot_bytes;
    memset(p->receive + at, 0, (size_t)p->size);
    if (p->window)
        memset(p->receive, 0, p->slot_bytes * (size_t)p->window);
    run(p, 1);
    if (p->window == 0)
        check(name, p->receive + at, (size_t)p->size, at, (unsigned)p->other);
    else if (p->me == 1 || run == halo || run == halo_written)
        for (size_t k = 0; k < (size_t)p->window; k++)
            check(name, p->receive + k * p->slot_bytes, (size_t)p->size, k * p->slot_bytes,
                  (unsigned)p->other);
}

typedef void (*reporter)(const char *name, const pair *p, const figure *f);

typedef struct {
    const char *name;
    operation run;
    reporter tell;
    const long *sizes;
    size_t size_count;
    int off_cache;
    int window; /* messages in a row, of long ones fewer; 0: one */
    origin from;
} description;

static int window_of(const description *d, long size)
{
    return d->window > LARGE_WINDOW && size > LARGE ? LARGE_WINDOW : d->window;
}

/* What ranks 0 and 1 do: every size of one benchmark. */
static void run_pair(MPI_Comm comm, const void *what)
{
    const description *d = what;
    const long *sizes = opt.sizes ? opt.sizes : d->sizes;
    size_t count = opt.sizes ? (size_t)opt.size_count : d->size_count;
    size_t pool = d->off_cache ? (size_t)opt.pool_mib << 19 : 0; /* half to send, half to receive */
    size_t bytes = pool;
    for (size_t i = 0; i < count; i++) {
        size_t slots = d->window ? (size_t)window_of(d, sizes[i]) : 1;
        if (slot_of(sizes[i]) * slots > bytes && !pool)
            bytes = slot_of(sizes[i]) * slots;
    }
    MPI_Request requests[WINDOW];
    pair p = {.comm = comm, .me = world_rank, .other = 1 - world_rank, .requests = requests};
    pair_allocate(&p, bytes, d->from);
    for (size_t i = 0; i < count; i++) {
        lay_out(&p, sizes[i], pool);
        p.window = window_of(d, sizes[i]);
        prove(d->name, d->run, &p);
        figure f = measure(comm, d->run, &p);
        if (p.me == 0)
            d->tell(d->name, &p, &f);
    }
    pair_free(&p);
}

static void run(const description *d)
{
    with_pair(d->name, run_pair, d);
}

static void tell_half(const char *name, const pair *p, const figure *f)
{
    report_us(name, p->size, f, 0.5);
}

static void tell_both_ways(const char *name, const pair *p, const figure *f)
{
    report_rate(name, p->size, f, 2e-9 * (double)p->size, "GB/s");
}

static void tell_halo(const char *name, const pair *p, const figure *f)
{
    report_us(name, p->size, f, 1);
}

static void tell_messages(const char *name, const pair *p, const figure *f)
{
    report_rate(name, p->size, f, 1e-6 * (double)p->window, "M/s");
}

static void tell_stream(const char *name, const pair *p, const figure *f)
{
    report_rate(name, p->size, f, 1e-6 * (double)p->size * (double)p->window, "MB/s");
}

#define SIZES(list) (list), sizeof(list) / sizeof((list)[0])

void run_pingpong(void)
{
    run(&(description){"pingpong", pingpong, tell_half, SIZES(latency_sizes), .from = HEAP});
}

void run_pingpong_persistent(void)
{
    run(&(description){"pingpong_persistent", persistent, tell_half, SIZES(latency_sizes), .from = HEAP});
}

void run_pingpong_nonblocking(void)
{
    run(&(description){"pingpong_nonblocking", nonblocking, tell_half, SIZES(latency_sizes), .from = HEAP});
}

void run_pingpong_written(void)
{
    run(&(description){"pingpong_written", pingpong_written, tell_half, SIZES(written_sizes), .from = HEAP});
}

void run_pingpong_off(void)
{
    run(&(description){"pingpong_off", pingpong, tell_half, SIZES(off_sizes), .off_cache = 1});
}

void run_pingpong_alloc(void)
{
    run(&(description){"pingpong_alloc", pingpong, tell_half, SIZES(latency_sizes), .from = ALLOCATED});
}

void run_sendrecv(void)
{
    run(&(description){"sendrecv", sendrecv, tell_both_ways, SIZES(sendrecv_sizes), .from = HEAP});
}

void run_sendrecv_written(void)
{
    run(&(description){"sendrecv_written", sendrecv_written, tell_both_ways, SIZES(written_sizes), .from = HEAP});
}

void run_sendrecv_off(void)
{
    run(&(description){"sendrecv_off", sendrecv, tell_both_ways, SIZES(sendrecv_sizes), .off_cache = 1});
}

void run_halo(void)
{
    run(&(description){"halo", halo, tell_halo, SIZES(halo_sizes), .window = NEIGHBOURS});
}

void run_halo_written(void)
{
    run(&(description){"halo_written", halo_written, tell_halo, SIZES(written_sizes), .window = NEIGHBOURS});
}

void run_rate(void)
{
    run(&(description){"rate", stream, tell_messages, SIZES(rate_sizes), .window = WINDOW});
}

void run_stream_written(void)
{
    run(&(description){"stream_written", stream_written, tell_stream, SIZES(written_sizes), .window = WRITTEN_WINDOW});
}

void run_stream(void)
{
    run(&(description){"stream", stream, tell_stream, SIZES(stream_sizes), .window = WINDOW});
}
