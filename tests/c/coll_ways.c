// ranks: 3 4
// timeout: 120
// Each collective with short, medium and long data in memory of MPI_Alloc_mem, against what the standard says. ways-test.sh runs it with each way
// of TERN_COLL, and looks which way was taken.
#include "check.h"

enum { LONGEST = 300 * 1024, LENGTHS = 5, TIMES = 3 };
static const int lengths[LENGTHS] = {1, 2000, 6000, 16 * 1024, LONGEST};

static int *get(int ints)
{
    int *memory;
    OK(MPI_Alloc_mem((MPI_Aint)ints * (MPI_Aint)sizeof(int), MPI_INFO_NULL, &memory));
    return memory;
}

/* What member `from` has at `at` for member `to`. */
static int word(int from, int to, int at)
{
    return from * 7919 + to * 104729 + at;
}

static void fill(int *memory, int n, int to)
{
    for (int at = 0; at < n; at++)
        memory[at] = word(rank, to, at);
}

static void is(const char *what, const int *memory, int n, int from, int to)
{
    long bad = 0;
    for (int at = 0; at < n; at++)
        bad += memory[at] != word(from, to, at);
    CHECK(bad == 0, "%s of %d: %ld words of rank %d are wrong", what, n, bad, from);
}

/* The sum of what the members below `end` have for member `to`. */
static void is_sum(const char *what, const int *memory, int n, int end, int to)
{
    long bad = 0;
    for (int at = 0; at < n; at++) {
        int sum = 0;
        for (int from = 0; from < end; from++)
            sum += word(from, to, at);
        bad += memory[at] != sum;
    }
    CHECK(bad == 0, "%s of %d: %ld sums are wrong", what, n, bad);
}

static void move(int *one, int *all, int n, int root)
{
    fill(one, n, 0);
    OK(MPI_Bcast(one, n, MPI_INT, root, MPI_COMM_WORLD));
    is("MPI_Bcast", one, n, root, 0);

    fill(one, n, 0);
    OK(MPI_Gather(one, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD));
    for (int from = 0; from < size && rank == root; from++)
        is("MPI_Gather", all + from * n, n, from, 0);

    for (int to = 0; to < size; to++)
        fill(all + to * n, n, to);
    OK(MPI_Scatter(all, n, MPI_INT, one, n, MPI_INT, root, MPI_COMM_WORLD));
    is("MPI_Scatter", one, n, root, rank);

    fill(one, n, 0);
    OK(MPI_Allgather(one, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++)
        is("MPI_Allgather", all + from * n, n, from, 0);
}

static void reduce(int *one, int *result, int n, int root)
{
    fill(one, n, 0);
    OK(MPI_Reduce(one, result, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    if (rank == root) is_sum("MPI_Reduce", result, n, size, 0);
    OK(MPI_Allreduce(one, result, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    is_sum("MPI_Allreduce", result, n, size, 0);
    OK(MPI_Scan(one, result, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    is_sum("MPI_Scan", result, n, rank + 1, 0);
    OK(MPI_Exscan(one, result, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank > 0) is_sum("MPI_Exscan", result, n, rank, 0);
}

/* Blocks for all. */
static void exchange(int *given, int *taken, int n)
{
    for (int to = 0; to < size; to++)
        fill(given + to * n, n, to);
    OK(MPI_Alltoall(given, n, MPI_INT, taken, n, MPI_INT, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++)
        is("MPI_Alltoall", taken + from * n, n, from, rank);
    OK(MPI_Reduce_scatter_block(given, taken, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    is_sum("MPI_Reduce_scatter_block", taken, n, size, rank);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *one = get(LONGEST), *result = get(LONGEST), *all = get(size * LONGEST), *other = get(size * LONGEST);
    for (int length = 0; length < LENGTHS; length++)
        for (int time = 0; time < TIMES; time++) {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            move(one, all, lengths[length], (length + time) % size);
            reduce(one, result, lengths[length], (length + time) % size);
            exchange(all, other, lengths[length]);
        }
    OK(MPI_Free_mem(one));
    OK(MPI_Free_mem(result));
    OK(MPI_Free_mem(all));
    OK(MPI_Free_mem(other));
    return finish();
}
