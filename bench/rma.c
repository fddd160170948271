/* One-sided communication: rank 0 works on the memory of rank 1, which meanwhile waits in a
 * barrier, or computes. The epoch is a lock, open all the time; a flush ends each round. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, LARGE_WINDOW = 16, LARGE = 65536, DONE = 9 };

typedef enum { ALLOCATE, SHARED, CREATE, DYNAMIC } flavor;

typedef struct {
    MPI_Comm comm;
    int me, window;
    long size;
    flavor kind;
    MPI_Win win;
    char *base;      /* of this rank's memory in the window */
    char *memory;    /* outside of it */
    MPI_Aint target; /* displacement of the memory of rank 1 */
} side;

static const long transfer_sizes[] = {8, 256, 4096, 65536, 1048576, 4194304};
static const long stream_sizes[] = {8, 1024, 16384, 65536, 1048576};
static const long accumulate_sizes[] = {8, 4096, 65536, 1048576};
static const long one_size[] = {8};

/* A window of `bytes` at rank 1, and as much memory outside at rank 0. */
static void open_window(side *s, size_t bytes)
{
    MPI_Aint there = (MPI_Aint)bytes;
    s->memory = memory(bytes);
    fill(s->memory, bytes, 5);
    s->target = 0;
    if (s->kind == ALLOCATE) {
        MPI_Win_allocate(there, 1, MPI_INFO_NULL, s->comm, &s->base, &s->win);
    } else if (s->kind == SHARED) {
        MPI_Win_allocate_shared(there, 1, MPI_INFO_NULL, s->comm, &s->base, &s->win);
    } else {
        s->base = memory(bytes);
        if (s->kind == CREATE) {
            MPI_Win_create(s->base, there, 1, MPI_INFO_NULL, s->comm, &s->win);
        } else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, s->comm, &s->win);
            MPI_Win_attach(s->win, s->base, there);
            MPI_Get_address(s->base, &s->target);
            MPI_Bcast(&s->target, 1, MPI_AINT, 1, s->comm);
        }
    }
    memset(s->base, 0, bytes);
    MPI_Barrier(s->comm);
}

static void close_window(side *s)
{
    if (s->kind == DYNAMIC)
        MPI_Win_detach(s->win, s->base);
    MPI_Win_free(&s->win);
    if (s->kind == CREATE || s->kind == DYNAMIC)
        free(s->base);
    free(s->memory);
}

static void put(side *s, size_t at)
{
    int count = (int)s->size;
    MPI_Put(s->memory + at, count, MPI_BYTE, 1, s->target + (MPI_Aint)at, count, MPI_BYTE, s->win);
}

static void get(side *s, size_t at)
{
    int count = (int)s->size;
    MPI_Get(s->memory + at, count, MPI_BYTE, 1, s->target + (MPI_Aint)at, count, MPI_BYTE, s->win);
}

static void accumulate(side *s, size_t at)
{
    int count = (int)(s->size / (long)sizeof(long));
    MPI_Accumulate(s->memory + at, count, MPI_LONG, 1, s->target + (MPI_Aint)at, count, MPI_LONG, MPI_SUM, s->win);
}

static void fetch(side *s, size_t at)
{
    long result;
    MPI_Fetch_and_op(s->memory + at, &result, MPI_LONG, 1, s->target + (MPI_Aint)at, MPI_SUM, s->win);
    MPI_Win_flush_local(1, s->win);
}

static void swap(side *s, size_t at)
{
    long result;
    MPI_Compare_and_swap(s->memory + at, s->memory + at, &result, MPI_LONG, 1, s->target + (MPI_Aint)at, s->win);
    MPI_Win_flush_local(1, s->win);
}

typedef struct {
    const char *name;
    void (*access)(side *s, size_t at);
    flavor kind;
    const long *sizes;
    size_t size_count;
    int windowed;
    /* The target computes, and looks into the library every 0.1 ms. */
    int computing;
    /* The calls of the epoch are given the assertions that hold. */
    int asserted;
    /* What else a round is; NULL for the access and a flush. */
    operation round;
} description;

typedef struct {
    side side;
    const description *what;
} bench;

/* Computes until rank 0 tells that it is done; a look into the library every 0.1 ms. */
static void compute_meanwhile(const side *s)
{
    for (int flag = 0; !flag;) {
        double end = now() + 1e-4;
        while (now() < end)
            ;
        MPI_Iprobe(0, DONE, s->comm, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, DONE, s->comm, MPI_STATUS_IGNORE);
}

static void passive(void *context, long iterations)
{
    bench *b = context;
    side *s = &b->side;
    if (s->me == 1) {
        if (b->what->computing)
            compute_meanwhile(s);
        return;
    }
    for (long i = 0; i < iterations; i++) {
        for (int k = 0; k < (s->window ? s->window : 1); k++)
            b->what->access(s, (size_t)k * slot_of(s->size));
        MPI_Win_flush(1, s->win);
    }
    if (b->what->computing)
        MPI_Send(NULL, 0, MPI_BYTE, 1, DONE, s->comm);
}

/* Lock, access, unlock. Nobody else locks. */
static void locked(void *context, long iterations)
{
    bench *b = context;
    int assert = b->what->asserted ? MPI_MODE_NOCHECK : 0;
    if (b->side.me == 1)
        return;
    for (long i = 0; i < iterations; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, assert, b->side.win);
        b->what->access(&b->side, 0);
        MPI_Win_unlock(1, b->side.win);
    }
}

/* Fence, access by rank 0, fence. */
static void fenced(void *context, long iterations)
{
    bench *b = context;
    for (long i = 0; i < iterations; i++) {
        if (b->side.me == 0)
            b->what->access(&b->side, 0);
        MPI_Win_fence(0, b->side.win);
    }
}

/* A fence that ends no epoch, access by rank 0, and one that begins none. */
static void fenced_apart(void *context, long iterations)
{
    bench *b = context;
    int first = b->what->asserted ? MPI_MODE_NOPRECEDE : 0, last = b->what->asserted ? MPI_MODE_NOSUCCEED : 0;
    for (long i = 0; i < iterations; i++) {
        MPI_Win_fence(first, b->side.win);
        if (b->side.me == 0)
            b->what->access(&b->side, 0);
        MPI_Win_fence(last, b->side.win);
    }
}

/* Fences with nothing between them: both of no epoch. */
static void fenced_idle(void *context, long iterations)
{
    bench *b = context;
    int assert = b->what->asserted ? MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED : 0;
    for (long i = 0; i < iterations; i++)
        MPI_Win_fence(assert, b->side.win);
}

/* Post and start, access, complete and wait. */
static void posted(void *context, long iterations)
{
    bench *b = context;
    MPI_Group all, other;
    int peer = 1 - b->side.me;
    MPI_Win_get_group(b->side.win, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    for (long i = 0; i < iterations; i++) {
        if (b->side.me == 0) {
            MPI_Win_start(other, 0, b->side.win);
            b->what->access(&b->side, 0);
            MPI_Win_complete(b->side.win);
        } else {
            MPI_Win_post(other, 0, b->side.win);
            MPI_Win_wait(b->side.win);
        }
    }
    MPI_Group_free(&all);
    MPI_Group_free(&other);
}

/* One round on zeros, then a look at what came. */
static void prove(bench *b, operation run)
{
    side *s = &b->side;
    if (b->what->access != put || s->size == 0 || run == fenced_idle)
        return;
    memset(s->base, 0, (size_t)s->size);
    MPI_Barrier(s->comm);
    run(b, 1);
    MPI_Barrier(s->comm);
    if (s->me == 1)
        check(b->what->name, s->base, (size_t)s->size, 0, 5);
}

static void run_side(MPI_Comm comm, const void *what)
{
    const description *d = what;
    const long *sizes = opt.sizes ? opt.sizes : d->sizes;
    size_t count = opt.sizes ? (size_t)opt.size_count : d->size_count, bytes = 0;
    operation run = d->round ? d->round : passive;
    for (size_t i = 0; i < count; i++) {
        size_t slots = !d->windowed ? 1 : sizes[i] > LARGE ? LARGE_WINDOW : WINDOW;
        if (slot_of(sizes[i]) * slots > bytes)
            bytes = slot_of(sizes[i]) * slots;
    }
    bench b = {.side = {.comm = comm, .me = world_rank, .kind = d->kind}, .what = d};
    open_window(&b.side, bytes);
    if (d->round == fenced)
        MPI_Win_fence(0, b.side.win);
    else if (d->round == NULL && b.side.me == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, b.side.win);
    for (size_t i = 0; i < count; i++) {
        b.side.size = sizes[i];
        b.side.window = !d->windowed ? 0 : sizes[i] > LARGE ? LARGE_WINDOW : WINDOW;
        prove(&b, run);
        figure f = measure(comm, run, &b);
        if (b.side.me == 0 && d->windowed)
            report_rate(d->name, sizes[i], &f, 1e-6 * (double)sizes[i] * (double)b.side.window, "MB/s");
        else if (b.side.me == 0)
            report_us(d->name, sizes[i], &f, 1);
    }
    if (d->round == NULL && b.side.me == 0)
        MPI_Win_unlock(1, b.side.win);
    MPI_Barrier(comm);
    close_window(&b.side);
}

#define SIZES(list) (list), sizeof(list) / sizeof((list)[0])
#define BENCHMARK(name, ...) \
    void run_##name(void) \
    { \
        with_pair(#name, run_side, &(description){#name, __VA_ARGS__}); \
    }

BENCHMARK(put_allocate, put, ALLOCATE, SIZES(transfer_sizes))
BENCHMARK(put_shared, put, SHARED, SIZES(transfer_sizes))
BENCHMARK(put_create, put, CREATE, SIZES(transfer_sizes))
BENCHMARK(put_dynamic, put, DYNAMIC, SIZES(transfer_sizes))
BENCHMARK(get_allocate, get, ALLOCATE, SIZES(transfer_sizes))
BENCHMARK(get_shared, get, SHARED, SIZES(transfer_sizes))
BENCHMARK(get_create, get, CREATE, SIZES(transfer_sizes))
BENCHMARK(get_dynamic, get, DYNAMIC, SIZES(transfer_sizes))
BENCHMARK(put_stream, put, ALLOCATE, SIZES(stream_sizes), .windowed = 1)
BENCHMARK(get_stream, get, ALLOCATE, SIZES(stream_sizes), .windowed = 1)
BENCHMARK(put_stream_create, put, CREATE, SIZES(stream_sizes), .windowed = 1)
BENCHMARK(get_stream_create, get, CREATE, SIZES(stream_sizes), .windowed = 1)
BENCHMARK(get_computing, get, ALLOCATE, SIZES(transfer_sizes), .computing = 1)
BENCHMARK(get_computing_create, get, CREATE, SIZES(transfer_sizes), .computing = 1)
BENCHMARK(fetch_computing, fetch, ALLOCATE, SIZES(one_size), .computing = 1)
BENCHMARK(fetch_allocate, fetch, ALLOCATE, SIZES(one_size))
BENCHMARK(fetch_create, fetch, CREATE, SIZES(one_size))
BENCHMARK(swap_allocate, swap, ALLOCATE, SIZES(one_size))
BENCHMARK(accumulate_allocate, accumulate, ALLOCATE, SIZES(accumulate_sizes))
BENCHMARK(accumulate_create, accumulate, CREATE, SIZES(accumulate_sizes))
BENCHMARK(put_lock, put, ALLOCATE, SIZES(one_size), .round = locked)
BENCHMARK(put_lock_nocheck, put, ALLOCATE, SIZES(one_size), .round = locked, .asserted = 1)
BENCHMARK(put_fence, put, ALLOCATE, SIZES(one_size), .round = fenced)
BENCHMARK(put_fences, put, ALLOCATE, SIZES(one_size), .round = fenced_apart)
BENCHMARK(put_fences_asserted, put, ALLOCATE, SIZES(one_size), .round = fenced_apart, .asserted = 1)
BENCHMARK(fence_idle, put, ALLOCATE, SIZES(one_size), .round = fenced_idle)
BENCHMARK(fence_idle_asserted, put, ALLOCATE, SIZES(one_size), .round = fenced_idle, .asserted = 1)
BENCHMARK(put_post, put, ALLOCATE, SIZES(one_size), .round = posted)
