/* Point-to-point benchmarks between ranks 0 and 1. Further ranks wait in a barrier meanwhile, so
 * that with more ranks than cores the same figures tell what waiting ranks cost the others. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 64, LARGE_WINDOW = 16, LARGE = 65536 };

/* One side of a pair. Message number k lies at slot(k) of `send` and of `receive`; in cache there
 * is one slot only. */
typedef struct {
    MPI_Comm comm;
    int me, other;
    long size;
    char *send, *receive;
    size_t slot_bytes, slots, stride;
    size_t next; /* the slot of the next message */
    int window;
    MPI_Request *requests;
} pair;

static const long latency_sizes[] = {0,     8,     64,     256,     1024,   4096,
                                     16384, 65536, 262144, 1048576, 4194304};
static const long off_sizes[] = {8, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304};
static const long sendrecv_sizes[] = {4096, 65536, 1048576, 4194304};
static const long rate_sizes[] = {8};
static const long stream_sizes[] = {8, 1024, 16384, 65536, 1048576};

static size_t advance(pair *p)
{
    size_t at = p->next * p->slot_bytes;
    p->next += p->stride;
    if (p->next >= p->slots)
        p->next -= p->slots;
    return at;
}

/* Slots in cache: one. Off cache: steps of about 0.618 of the pool, through all slots, so that
 * neither a cache nor a prefetcher knows the next one. */
static void lay_out(pair *p, long size, size_t pool_bytes)
{
    p->size = size;
    p->next = 0;
    p->slot_bytes = ((size_t)size + 127) / 64 * 64;
    p->slots = pool_bytes ? pool_bytes / p->slot_bytes : 1;
    if (p->slots < 1)
        fail("--pool-mib: no room for a message of %ld bytes", size);
    p->stride = (size_t)(0.618 * (double)p->slots);
    for (;; p->stride++) {
        size_t a = p->stride, b = p->slots;
        while (b != 0) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            break;
    }
    p->stride %= p->slots;
}

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

/* A window of sends from rank 0, answered by one empty message. */
static void stream(void *context, long iterations)
{
    pair *p = context;
    int count = (int)p->size;
    for (long i = 0; i < iterations; i++) {
        for (int k = 0; k < p->window; k++) {
            size_t at = (size_t)k * p->slot_bytes;
            if (p->me == 0)
                MPI_Isend(p->send + at, count, MPI_BYTE, 1, 1, p->comm, &p->requests[k]);
            else
                MPI_Irecv(p->receive + at, count, MPI_BYTE, 0, 1, p->comm, &p->requests[k]);
        }
        MPI_Waitall(p->window, p->requests, MPI_STATUSES_IGNORE);
        if (p->me == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, p->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, p->comm);
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
    else if (p->me == 1)
        for (size_t k = 0; k < (size_t)p->window; k++)
            check(name, p->receive + k * p->slot_bytes, (size_t)p->size, k * p->slot_bytes, 0);
}

typedef void (*reporter)(const char *name, const pair *p, const figure *f);

typedef struct {
    const char *name;
    operation run;
    reporter tell;
    const long *sizes;
    size_t size_count;
    int off_cache, windowed;
} description;

/* What ranks 0 and 1 do: every size of one benchmark. */
static void run_pair(const description *d, MPI_Comm comm)
{
    const long *sizes = opt.sizes ? opt.sizes : d->sizes;
    size_t count = opt.sizes ? (size_t)opt.size_count : d->size_count;
    size_t pool = d->off_cache ? (size_t)opt.pool_mib << 19 : 0; /* half to send, half to receive */
    size_t bytes = pool;
    for (size_t i = 0; i < count; i++) {
        size_t slots = !d->windowed ? 1 : sizes[i] > LARGE ? LARGE_WINDOW : WINDOW;
        size_t needed = (((size_t)sizes[i] + 127) / 64 * 64) * slots;
        if (needed > bytes && !pool)
            bytes = needed;
    }
    MPI_Request requests[WINDOW];
    pair p = {.comm = comm, .me = world_rank, .other = 1 - world_rank, .requests = requests};
    p.send = memory(bytes);
    p.receive = memory(bytes);
    fill(p.send, bytes, (unsigned)p.me);
    for (size_t i = 0; i < count; i++) {
        lay_out(&p, sizes[i], pool);
        p.window = !d->windowed ? 0 : sizes[i] > LARGE ? LARGE_WINDOW : WINDOW;
        prove(d->name, d->run, &p);
        figure f = measure(comm, d->run, &p);
        if (p.me == 0)
            d->tell(d->name, &p, &f);
    }
    free(p.send);
    free(p.receive);
}

static void run(const description *d)
{
    if (world_size < 2)
        fail("%s needs two ranks", d->name);
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < 2 ? 0 : MPI_UNDEFINED, world_rank, &comm);
    if (comm != MPI_COMM_NULL) {
        run_pair(d, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void tell_half(const char *name, const pair *p, const figure *f)
{
    report_us(name, p->size, f, 0.5);
}

static void tell_both_ways(const char *name, const pair *p, const figure *f)
{
    report_rate(name, p->size, f, 2e-9 * (double)p->size, "GB/s");
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
    run(&(description){"pingpong", pingpong, tell_half, SIZES(latency_sizes), 0, 0});
}

void run_pingpong_off(void)
{
    run(&(description){"pingpong_off", pingpong, tell_half, SIZES(off_sizes), 1, 0});
}

void run_sendrecv(void)
{
    run(&(description){"sendrecv", sendrecv, tell_both_ways, SIZES(sendrecv_sizes), 0, 0});
}

void run_sendrecv_off(void)
{
    run(&(description){"sendrecv_off", sendrecv, tell_both_ways, SIZES(sendrecv_sizes), 1, 0});
}

void run_rate(void)
{
    run(&(description){"rate", stream, tell_messages, SIZES(rate_sizes), 0, 1});
}

void run_stream(void)
{
    run(&(description){"stream", stream, tell_stream, SIZES(stream_sizes), 0, 1});
}

/* The two calls whose instructions a profiler counts: nothing else may happen in here. */
__attribute__((noinline)) void counted_send(const void *buffer, int count, MPI_Comm comm)
{
    MPI_Send(buffer, count, MPI_BYTE, 1, 1, comm);
}

__attribute__((noinline)) void counted_receive(void *buffer, int count, MPI_Comm comm)
{
    MPI_Recv(buffer, count, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE);
}

/* A fixed number of ping-pongs, for counting instructions. Rank 0 sleeps before it receives, so
 * that the answer is there and no instruction is spent on waiting. */
void run_pingpong_count(void)
{
    if (world_size != 2)
        fail("pingpong_count needs two ranks");
    long size = opt.sizes ? opt.sizes[0] : 8;
    char *buffer = memory((size_t)size);
    for (long i = 0; i < opt.iterations; i++) {
        if (world_rank == 0) {
            counted_send(buffer, (int)size, MPI_COMM_WORLD);
            usleep(200);
            counted_receive(buffer, (int)size, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buffer, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    free(buffer);
}
