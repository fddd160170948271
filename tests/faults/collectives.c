/* Collectives over a network that breaks, with errors returned: each call gives every rank right data or an error.
 * Usage: collectives [dies]
 *   dies     the last rank dies half way, and the job ends
 * A call that waits for ever is noticed by whoever runs this. All ranks make all calls, whatever went wrong before, since a
 * rank that gave up would be waited for. Ends with 0, or 3 when data was wrong; each rank prints "RANK: CLASS", where CLASS
 * is that of the first error. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, MOST = 16, LONGEST = 30000 };
static int rank, size, round_, len, failed;
static long in[MOST * LONGEST], out[MOST * LONGEST];

/* What `from` gives at `at` in this round. */
static long value(int from, long at) { return 1000003L * from + 7919L * round_ + at; }

static long sum(int ranks, long at)
{
    long all = 0;
    for (int r = 0; r < ranks; r++) all += value(r, at);
    return all;
}

static void give(int blocks)
{
    for (long at = 0; at < (long)blocks * len; at++) out[at] = value(rank, at);
    memset(in, 0x55, sizeof(long) * (size_t)size * len);
}

static void want(const char *call, long at, long expected)
{
    if (in[at] == expected) return;
    fprintf(stderr, "rank %d: wrong data from %s of %d in round %d at %ld: %ld, not %ld\n", rank, call, len, round_, at, in[at], expected);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* True when all went well. */
static int good(int code)
{
    int class = 0;
    if (code == MPI_SUCCESS) return 1;
    MPI_Error_class(code, &class);
    if (!failed) failed = class;
    return 0;
}

static int waited(MPI_Request *request, int code) { return good(code) && good(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void all_calls(int root)
{
    MPI_Request request;
    const MPI_Comm w = MPI_COMM_WORLD;
    give(1);
    if (rank == root) memcpy(in, out, sizeof(long) * len);
    if (good(MPI_Bcast(in, len, MPI_LONG, root, w)))
        for (int i = 0; i < len; i++) want("bcast", i, value(root, i));
    give(1);
    if (good(MPI_Allreduce(out, in, len, MPI_LONG, MPI_SUM, w)))
        for (int i = 0; i < len; i++) want("allreduce", i, sum(size, i));
    give(1);
    if (good(MPI_Reduce(out, in, len, MPI_LONG, MPI_SUM, root, w)) && rank == root)
        for (int i = 0; i < len; i++) want("reduce", i, sum(size, i));
    give(1);
    if (good(MPI_Allgather(out, len, MPI_LONG, in, len, MPI_LONG, w)))
        for (int r = 0; r < size; r++)
            for (int i = 0; i < len; i++) want("allgather", (long)r * len + i, value(r, i));
    give(1);
    if (good(MPI_Gather(out, len, MPI_LONG, in, len, MPI_LONG, root, w)) && rank == root)
        for (int r = 0; r < size; r++)
            for (int i = 0; i < len; i++) want("gather", (long)r * len + i, value(r, i));
    give(size);
    if (good(MPI_Scatter(out, len, MPI_LONG, in, len, MPI_LONG, root, w)))
        for (int i = 0; i < len; i++) want("scatter", i, value(root, (long)rank * len + i));
    give(size);
    if (good(MPI_Alltoall(out, len, MPI_LONG, in, len, MPI_LONG, w)))
        for (int r = 0; r < size; r++)
            for (int i = 0; i < len; i++) want("alltoall", (long)r * len + i, value(r, (long)rank * len + i));
    give(1);
    if (good(MPI_Scan(out, in, len, MPI_LONG, MPI_SUM, w)))
        for (int i = 0; i < len; i++) want("scan", i, sum(rank + 1, i));
    give(size);
    if (good(MPI_Reduce_scatter_block(out, in, len, MPI_LONG, MPI_SUM, w)))
        for (int i = 0; i < len; i++) want("reduce_scatter_block", i, sum(size, (long)rank * len + i));
    give(1);
    if (rank == root) memcpy(in, out, sizeof(long) * len);
    if (waited(&request, MPI_Ibcast(in, len, MPI_LONG, root, w, &request)))
        for (int i = 0; i < len; i++) want("ibcast", i, value(root, i));
    give(1);
    if (waited(&request, MPI_Iallreduce(out, in, len, MPI_LONG, MPI_SUM, w, &request)))
        for (int i = 0; i < len; i++) want("iallreduce", i, sum(size, i));
    give(1);
    if (waited(&request, MPI_Iallgather(out, len, MPI_LONG, in, len, MPI_LONG, w, &request)))
        for (int r = 0; r < size; r++)
            for (int i = 0; i < len; i++) want("iallgather", (long)r * len + i, value(r, i));
    good(MPI_Barrier(w));
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 700, 6000, LONGEST};
    int dies = argc > 1 && !strcmp(argv[1], "dies");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (round_ = 0; round_ < ROUNDS; round_++) {
        len = lengths[round_ % 4];
        if (dies && round_ == ROUNDS / 2 && rank == size - 1) raise(SIGKILL);
        all_calls(round_ % size);
    }
    printf("%d: %s\n", rank, failed == 0 ? "0" : failed == MPI_ERR_PROC_ABORTED ? "aborted" : "another");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
