/* Collective benchmarks: mean time of a call in a loop behind a barrier, slowest rank. The size is
 * that of one rank's contribution, or of one block where every pair of ranks exchanges blocks. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int bytes;
    char *send, *receive;
} buffers;

static const long sizes_of_collectives[] = {8, 1024, 32768, 1048576};

static void barrier(void *context, long iterations)
{
    (void)context;
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* By a program that looks in a loop whether it may go on. */
static void barrier_tested(void *context, long iterations)
{
    (void)context;
    for (long i = 0; i < iterations; i++) {
        MPI_Request request;
        int done = 0;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static void bcast(void *context, long iterations)
{
    buffers *b = context;
    char *buffer = world_rank == 0 ? b->send : b->receive;
    for (long i = 0; i < iterations; i++)
        MPI_Bcast(buffer, b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Every rank is the root in turn, so that one begins when the one before it has come there: a broadcast from one rank
 * alone may be half over when the next begins. */
static void bcast_turns(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Bcast(b->send, b->bytes, MPI_BYTE, (int)(i % world_size), MPI_COMM_WORLD);
}

static void scatter_turns(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Scatter(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, (int)(i % world_size), MPI_COMM_WORLD);
}

static void allreduce(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Allreduce(b->send, b->receive, b->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Reduce(b->send, b->receive, b->bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void reduce_scatter(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Reduce_scatter_block(b->send, b->receive, b->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Scan(b->send, b->receive, b->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void exscan(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Exscan(b->send, b->receive, b->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Alltoall(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void allgather(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Allgather(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Gather(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void scatter(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++)
        MPI_Scatter(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Of data that is made before and used after, which is a part of the time. */
static void bcast_written(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++) {
        int root = (int)(i % world_size);
        if (world_rank == root)
            make(b->send, b->bytes);
        MPI_Bcast(b->send, b->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        if (world_rank != root)
            use(b->send, b->bytes);
    }
}

static void allreduce_written(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++) {
        make(b->send, b->bytes);
        allreduce(b, 1);
        use(b->receive, b->bytes);
    }
}

static void alltoall_written(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++) {
        make(b->send, (long)b->bytes * world_size);
        alltoall(b, 1);
        use(b->receive, (long)b->bytes * world_size);
    }
}

static void allgather_written(void *context, long iterations)
{
    buffers *b = context;
    for (long i = 0; i < iterations; i++) {
        make(b->send, b->bytes);
        allgather(b, 1);
        use(b->receive, (long)b->bytes * world_size);
    }
}

/* The same begun and waited for. */
#define NONBLOCKING(NAME, ...) \
    static void NAME(void *context, long iterations) \
    { \
        buffers *b = context; \
        MPI_Request request; \
        for (long i = 0; i < iterations; i++) { \
            __VA_ARGS__; \
            MPI_Wait(&request, MPI_STATUS_IGNORE); \
        } \
    }
NONBLOCKING(ibcast, MPI_Ibcast(world_rank == 0 ? b->send : b->receive, b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request))
NONBLOCKING(iallreduce, MPI_Iallreduce(b->send, b->receive, b->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                                       &request))
NONBLOCKING(ialltoall, MPI_Ialltoall(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, MPI_COMM_WORLD,
                                     &request))
NONBLOCKING(iallgather, MPI_Iallgather(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, MPI_COMM_WORLD,
                                       &request))

/* The same as persistent operations, made before they are measured and then started every time. A library
 * without them is told of, and measured in the others. */
#if MPI_VERSION >= 4
static MPI_Request persistent;

static void start(void *context, long iterations)
{
    (void)context;
    for (long i = 0; i < iterations; i++) {
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
}

static void init_barrier(buffers *b)
{
    (void)b;
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
}

static void init_bcast(buffers *b)
{
    char *buffer = world_rank == 0 ? b->send : b->receive;
    MPI_Bcast_init(buffer, b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
}

static void init_allreduce(buffers *b)
{
    MPI_Allreduce_init(b->send, b->receive, b->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &persistent);
}

static void init_allgather(buffers *b)
{
    MPI_Allgather_init(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &persistent);
}

static void init_alltoall(buffers *b)
{
    MPI_Alltoall_init(b->send, b->bytes, MPI_BYTE, b->receive, b->bytes, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &persistent);
}
#endif

/* What each rank must have received. `blocks` is how many blocks of `bytes` lie in `receive`. */
typedef void (*proof)(const char *name, const buffers *b);

static void prove_bcast(const char *name, const buffers *b)
{
    if (world_rank != 0)
        check(name, b->receive, (size_t)b->bytes, 0, 0);
}

static void prove_bcast_turns(const char *name, const buffers *b)
{
    check(name, b->send, (size_t)b->bytes, 0, 0);
}

/* The sum of what so many ranks, from the first one on, have contributed. */
static void prove_sum_of(int ranks, const char *name, const buffers *b)
{
    const double *sum = (const double *)b->receive;
    double expected = (double)ranks * (ranks + 1) / 2;
    for (int i = 0; i < b->bytes / 8; i++)
        if (sum[i] != expected)
            fail("%s with %d bytes: element %d is %g, not %g", name, b->bytes, i, sum[i], expected);
}

static void prove_sum(const char *name, const buffers *b)
{
    prove_sum_of(world_size, name, b);
}

static void prove_scan(const char *name, const buffers *b)
{
    prove_sum_of(world_rank + 1, name, b);
}

/* The first rank receives nothing: its buffer is as it was, which is zeroed. */
static void prove_exscan(const char *name, const buffers *b)
{
    prove_sum_of(world_rank, name, b);
}

static void prove_sum_at_root(const char *name, const buffers *b)
{
    if (world_rank == 0)
        prove_sum(name, b);
}

static void prove_alltoall(const char *name, const buffers *b)
{
    size_t bytes = (size_t)b->bytes;
    for (size_t from = 0; from < (size_t)world_size; from++)
        check(name, b->receive + from * bytes, bytes, (size_t)world_rank * bytes, (unsigned)from);
}

static void prove_blocks(const char *name, const buffers *b)
{
    size_t bytes = (size_t)b->bytes;
    for (size_t from = 0; from < (size_t)world_size; from++)
        check(name, b->receive + from * bytes, bytes, 0, (unsigned)from);
}

static void prove_gather(const char *name, const buffers *b)
{
    if (world_rank == 0)
        prove_blocks(name, b);
}

static void prove_scatter(const char *name, const buffers *b)
{
    check(name, b->receive, (size_t)b->bytes, (size_t)world_rank * (size_t)b->bytes, 0);
}

/* Runs one collective over its sizes; `in` and `out` say how many blocks it sends and receives. `init` makes
 * a persistent one; NULL: it is none. */
static void run_form(const char *name, operation op, void (*init)(buffers *), proof prove, int in, int out)
{
    const long *sizes = opt.sizes ? opt.sizes : sizes_of_collectives;
    int count = opt.sizes ? opt.size_count : 4;
    int sums = prove == prove_sum || prove == prove_sum_at_root || prove == prove_scan || prove == prove_exscan;
    for (int i = 0; i < count; i++) {
        if (sizes[i] % 8 != 0 || sizes[i] == 0)
            fail("%s: sizes are multiples of 8, not %ld", name, sizes[i]);
        size_t to_send = (size_t)sizes[i] * (size_t)in, to_receive = (size_t)sizes[i] * (size_t)out;
        buffers b = {(int)sizes[i], memory(to_send), memory(to_receive)};
        if (sums)
            for (size_t k = 0; k < to_send / 8; k++)
                ((double *)b.send)[k] = world_rank + 1;
        else
            fill(b.send, to_send, (unsigned)world_rank);
        if (init)
            init(&b);
        op(&b, 1);
        prove(name, &b);
        figure f = measure(MPI_COMM_WORLD, op, &b);
        if (world_rank == 0)
            report_us(name, sizes[i], &f, 1);
#if MPI_VERSION >= 4
        if (init)
            MPI_Request_free(&persistent);
#endif
        free(b.send);
        free(b.receive);
    }
}

static void run(const char *name, operation op, proof prove, int in, int out)
{
    run_form(name, op, NULL, prove, in, out);
}

void run_barrier(void)
{
    run_bare("barrier", barrier);
}

void run_barrier_tested(void)
{
    run_bare("barrier_tested", barrier_tested);
}

void run_bcast(void)
{
    run("bcast", bcast, prove_bcast, 1, 1);
}

void run_allreduce(void)
{
    run("allreduce", allreduce, prove_sum, 1, 1);
}

void run_reduce(void)
{
    run("reduce", reduce, prove_sum_at_root, 1, 1);
}

void run_reduce_scatter(void)
{
    run("reduce_scatter", reduce_scatter, prove_sum, world_size, 1);
}

void run_scan(void)
{
    run("scan", scan, prove_scan, 1, 1);
}

void run_exscan(void)
{
    run("exscan", exscan, prove_exscan, 1, 1);
}

void run_ibcast(void)
{
    run("ibcast", ibcast, prove_bcast, 1, 1);
}

void run_iallreduce(void)
{
    run("iallreduce", iallreduce, prove_sum, 1, 1);
}

void run_ialltoall(void)
{
    run("ialltoall", ialltoall, prove_alltoall, world_size, world_size);
}

void run_iallgather(void)
{
    run("iallgather", iallgather, prove_blocks, 1, world_size);
}

void run_alltoall(void)
{
    run("alltoall", alltoall, prove_alltoall, world_size, world_size);
}

void run_allgather(void)
{
    run("allgather", allgather, prove_blocks, 1, world_size);
}

void run_gather(void)
{
    run("gather", gather, prove_gather, 1, world_size);
}

void run_scatter(void)
{
    run("scatter", scatter, prove_scatter, world_size, 1);
}

void run_bcast_written(void)
{
    run("bcast_written", bcast_written, prove_bcast_turns, 1, 1);
}

void run_allreduce_written(void)
{
    run("allreduce_written", allreduce_written, prove_sum, 1, 1);
}

void run_alltoall_written(void)
{
    run("alltoall_written", alltoall_written, prove_alltoall, world_size, world_size);
}

void run_allgather_written(void)
{
    run("allgather_written", allgather_written, prove_blocks, 1, world_size);
}

void run_bcast_turns(void)
{
    run("bcast_turns", bcast_turns, prove_bcast_turns, 1, 1);
}

void run_scatter_turns(void)
{
    run("scatter_turns", scatter_turns, prove_scatter, world_size, 1);
}

#if MPI_VERSION >= 4
void run_barrier_persistent(void)
{
    init_barrier(NULL);
    run_bare("barrier_persistent", start);
    MPI_Request_free(&persistent);
}

void run_bcast_persistent(void)
{
    run_form("bcast_persistent", start, init_bcast, prove_bcast, 1, 1);
}

void run_allreduce_persistent(void)
{
    run_form("allreduce_persistent", start, init_allreduce, prove_sum, 1, 1);
}

void run_allgather_persistent(void)
{
    run_form("allgather_persistent", start, init_allgather, prove_blocks, 1, world_size);
}

void run_alltoall_persistent(void)
{
    run_form("alltoall_persistent", start, init_alltoall, prove_alltoall, world_size, world_size);
}
#else
#define MISSING(NAME) \
    void run_##NAME(void) { fail(#NAME ": this library has MPI %d, without persistent collectives", MPI_VERSION); }
MISSING(barrier_persistent)
MISSING(bcast_persistent)
MISSING(allreduce_persistent)
MISSING(allgather_persistent)
MISSING(alltoall_persistent)
#endif
