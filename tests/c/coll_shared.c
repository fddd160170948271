// ranks: 2 3 5
// timeout: 120
// Longer collectives of which the members read each other's memory where it lies, blocking and persistent: memory from
// MPI_Alloc_mem, of malloc's that comes to be shared, some of which is not, and memory that is freed and allocated again
// between two rounds. Persistent ones are started in different orders, and made and freed many times.
#include "counter.h"

/* TURN rounds are read in place, two times as many go another way, TURN again in place and the one in which it is decided; the rest goes either way. */
enum { TURN = 6, ROUNDS = 30, KINDS = 4 };
enum { ALLOCATED, MALLOCED, MIXED, RENEWED };
static const char *const kind_names[KINDS] = {"MPI_Alloc_mem", "malloc", "of both kinds", "malloc in each round"};
static long statics[2][5 * 40000];
/* A new one for each length and kind, which remembers nothing of others. */
static MPI_Comm comm;

static int by_kernel;

/* The counter of collectives that have gone so. */
static number shared(void)
{
    static MPI_T_pvar_handle handle;
    if (counters == MPI_T_PVAR_SESSION_NULL) handle = counter("collective_shared");
    return counted(handle);
}

/* True where all memory of MPI_Alloc_mem is read so. */
static int expected(void)
{
    const char *mechanism = getenv("TERN_MECHANISM");
    MPI_Comm node;
    int near;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &near));
    OK(MPI_Comm_free(&node));
    int wanted = mechanism == NULL || strcmp(mechanism, "auto") == 0 || strcmp(mechanism, "mapped") == 0;
    /* What the kernel copies is read so too, if it does. */
    by_kernel = mechanism != NULL && strcmp(mechanism, "cma") == 0;
    return near == size && wanted && getenv("TERN_CHECK") == NULL && getenv("TERN_COLL_LINES") == NULL;
}

static long *get(int kind, size_t longs, int which)
{
    long *memory = NULL;
    if (kind == ALLOCATED || (kind == MIXED && rank == 0))
        OK(MPI_Alloc_mem((MPI_Aint)(longs * sizeof(long)), MPI_INFO_NULL, &memory));
    else if (kind == MIXED)
        memory = statics[which];
    else
        memory = malloc(longs * sizeof(long));
    return memory;
}

static void give_back(int kind, long *memory)
{
    if (kind == ALLOCATED || (kind == MIXED && rank == 0))
        OK(MPI_Free_mem(memory));
    else if (kind != MIXED)
        free(memory);
}

/* What element `at` of the block from `from` for `to` is. */
static long value(int round, int from, int to, long at)
{
    return round * 1000003L + from * 10007 + to * 101 + at;
}

static long sum(int round, int to, long at)
{
    long all = 0;
    for (int from = 0; from < size; from++)
        all += value(round, from, to, at);
    return all;
}

static void fill(long *memory, int round, int blocks, long n)
{
    for (int to = 0; to < blocks; to++)
        for (long at = 0; at < n; at++)
            memory[to * n + at] = value(round, rank, to, at);
}

enum { ALLTOALL, ALLGATHER, ALLREDUCE, SCATTER, BARRIER, OPERATIONS };
static const char *const names[OPERATIONS] = {"alltoall", "allgather", "allreduce", "reduce_scatter_block", "barrier"};

static void call(int operation, long *in, long *out, int n)
{
    switch (operation) {
    case ALLTOALL: OK(MPI_Alltoall(in, n, MPI_LONG, out, n, MPI_LONG, comm)); break;
    case ALLGATHER: OK(MPI_Allgather(in, n, MPI_LONG, out, n, MPI_LONG, comm)); break;
    case ALLREDUCE: OK(MPI_Allreduce(in, out, n, MPI_LONG, MPI_SUM, comm)); break;
    case SCATTER: OK(MPI_Reduce_scatter_block(in, out, n, MPI_LONG, MPI_SUM, comm)); break;
    default: OK(MPI_Barrier(comm));
    }
}

static MPI_Request made(int operation, long *in, long *out, int n)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Info none = MPI_INFO_NULL;
    switch (operation) {
    case ALLTOALL: OK(MPI_Alltoall_init(in, n, MPI_LONG, out, n, MPI_LONG, comm, none, &request)); break;
    case ALLGATHER: OK(MPI_Allgather_init(in, n, MPI_LONG, out, n, MPI_LONG, comm, none, &request)); break;
    case ALLREDUCE: OK(MPI_Allreduce_init(in, out, n, MPI_LONG, MPI_SUM, comm, none, &request)); break;
    case SCATTER: OK(MPI_Reduce_scatter_block_init(in, out, n, MPI_LONG, MPI_SUM, comm, none, &request)); break;
    default: OK(MPI_Barrier_init(comm, none, &request));
    }
    return request;
}

/* Elements that are not as they should be after a round. */
static long wrong(int operation, int round, const long *out, long n)
{
    long bad = 0;
    for (long at = 0; at < n; at++) {
        if (operation == ALLREDUCE)
            bad += out[at] != sum(round, 0, at);
        if (operation == SCATTER)
            bad += out[at] != sum(round, rank, at);
        if (operation == ALLTOALL || operation == ALLGATHER)
            for (int from = 0; from < size; from++)
                bad += out[from * n + at] != value(round, from, operation == ALLTOALL ? rank : 0, at);
    }
    return bad;
}

static void blocking(int operation, int kind, int n)
{
    size_t all = (size_t)size * (size_t)n;
    long *in = get(kind, all, 0), *out = get(kind, all, 1);
    for (int round = 0; round < ROUNDS; round++) {
        if (kind == RENEWED && round % 3 == rank % 3) {
            give_back(kind, in);
            give_back(kind, out);
            out = get(kind, all, 1), in = get(kind, all, 0);
        }
        fill(in, round, size, n);
        call(operation, in, out, n);
        long bad = wrong(operation, round, out, n);
        /* Who is early must not spoil what the others still read. */
        memset(in, 0x55, all * sizeof(long));
        CHECK(bad == 0, "%s of %d longs, %s, round %d: %ld", names[operation], n, kind_names[kind], round, bad);
    }
    give_back(kind, in);
    give_back(kind, out);
}

static void in_place(int kind, int n)
{
    long *both = get(kind, (size_t)size * (size_t)n, 0);
    for (int round = 0; round < ROUNDS / 2; round++) {
        fill(both, round, size, n);
        OK(MPI_Alltoall(MPI_IN_PLACE, n, MPI_LONG, both, n, MPI_LONG, comm));
        CHECK(wrong(ALLTOALL, round, both, n) == 0, "alltoall in place of %d, %s", n, kind_names[kind]);
        fill(both + (long)rank * n, round, 1, n);
        OK(MPI_Allgather(MPI_IN_PLACE, n, MPI_LONG, both, n, MPI_LONG, comm));
        CHECK(wrong(ALLGATHER, round, both, n) == 0, "allgather in place of %d, %s", n, kind_names[kind]);
        fill(both, round, size, n);
        OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, both, n, MPI_LONG, MPI_SUM, comm));
        CHECK(wrong(SCATTER, round, both, n) == 0, "reduce_scatter_block in place of %d, %s", n, kind_names[kind]);
        fill(both, round, 1, n);
        OK(MPI_Allreduce(MPI_IN_PLACE, both, n, MPI_LONG, MPI_SUM, comm));
        CHECK(wrong(ALLREDUCE, round, both, n) == 0, "allreduce in place of %d, %s", n, kind_names[kind]);
    }
    give_back(kind, both);
}

/* All operations at once, started from another one on by each rank, and waited for in different ways. */
static void persistent(int kind, int n)
{
    size_t all = (size_t)size * (size_t)n;
    long *in[OPERATIONS], *out[OPERATIONS];
    MPI_Request requests[OPERATIONS];
    for (int i = 0; i < OPERATIONS; i++) {
        in[i] = get(kind == MIXED ? MALLOCED : kind, all, 0);
        out[i] = get(kind == MIXED ? ALLOCATED : kind, all, 1);
        requests[i] = made(i, in[i], out[i], n);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < OPERATIONS; i++)
            fill(in[i], round, size, n);
        if (round % 4 == 3) {
            OK(MPI_Startall(OPERATIONS, requests));
        } else {
            for (int i = 0; i < OPERATIONS; i++)
                OK(MPI_Start(&requests[(i + rank * round) % OPERATIONS]));
        }
        if (round % 4 == 1) {
            for (int i = 0; i < OPERATIONS; i++)
                for (int done = 0; !done;)
                    OK(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Waitall(OPERATIONS, requests, MPI_STATUSES_IGNORE));
        }
        for (int i = 0; i < OPERATIONS; i++) {
            long bad = wrong(i, round, out[i], n);
            memset(in[i], 0x55, all * sizeof(long));
            CHECK(bad == 0, "persistent %s of %d, %s, round %d: %ld", names[i], n, kind_names[kind], round, bad);
        }
    }
    for (int i = 0; i < OPERATIONS; i++) {
        OK(MPI_Request_free(&requests[(i + rank) % OPERATIONS]));
        give_back(kind == MIXED ? MALLOCED : kind, in[i]);
        give_back(kind == MIXED ? ALLOCATED : kind, out[i]);
    }
}

/* A persistent collective whose memory is freed and comes back at the same address, as far as malloc gives it again. */
static void same_address(int n)
{
    size_t bytes = (size_t)size * (size_t)n * sizeof(long);
    long *in = malloc(bytes), *out = malloc(bytes);
    MPI_Request request = made(ALLTOALL, in, out, n);
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 4 == 3) {
            free(in);
            long *again = malloc(bytes);
            CHECK(again != NULL);
            if (again != in) {
                /* Then it goes on from there. */
                OK(MPI_Request_free(&request));
                request = MPI_REQUEST_NULL;
            }
            in = again;
        }
        int gone = request == MPI_REQUEST_NULL, any;
        OK(MPI_Allreduce(&gone, &any, 1, MPI_INT, MPI_LOR, comm));
        if (any) {
            if (!gone)
                OK(MPI_Request_free(&request));
            request = made(ALLTOALL, in, out, n);
        }
        fill(in, round, size, n);
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(wrong(ALLTOALL, round, out, n) == 0, "memory that has come back, round %d", round);
    }
    OK(MPI_Request_free(&request));
    free(in);
    free(out);
}

/* So many calls in shared memory of all operations but the barrier. */
static int is_expected(unsigned long long calls)
{
    return calls >= BARRIER * (2 * TURN + 1) && calls <= BARRIER * (ROUNDS - 2 * TURN);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static const int lengths[] = {2051, 5000, 40000};
    int wanted = expected();
    for (int l = 0; l < (int)(sizeof lengths / sizeof *lengths); l++)
        for (int kind = 0; kind < KINDS; kind++) {
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            unsigned long long before = shared();
            for (int operation = 0; operation < BARRIER; operation++)
                blocking(operation, kind, lengths[l]);
            unsigned long long calls = shared() - before;
            int all = wanted && kind == ALLOCATED && lengths[l] >= 5000;
            CHECK(!all || is_expected(calls), "%llu calls in shared memory", calls);
            CHECK(wanted || by_kernel || calls == 0, "%llu calls in shared memory", calls);
            in_place(kind, lengths[l]);
            before = shared();
            persistent(kind, lengths[l]);
            calls = shared() - before;
            CHECK(!all || is_expected(calls), "%llu persistent calls in shared memory", calls);
            OK(MPI_Comm_free(&comm));
        }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    same_address(40000);
    OK(MPI_Comm_free(&comm));
    return finish();
}
