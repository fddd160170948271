// ranks: 1 2 3 4
// Wrong arguments of collectives, in all forms: the class of the error, and that work goes on.
#include "coll.h"

static int a[64], b[64], n[64], d[64];
static MPI_Request request = MPI_REQUEST_NULL;
static MPI_Datatype bytes_of[64];

/* The call fails in every form. (Other libraries check only some.) */
#define ALL_FAIL(class, Name, name, ...) \
    do { \
        FAILS(class, MPI_##Name(__VA_ARGS__)); \
        if (!strict()) break; \
        FAILS(class, MPI_##Name##_c(__VA_ARGS__)); \
        FAILS(class, MPI_I##name(__VA_ARGS__, &request)); \
        FAILS(class, MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)); \
    } while (0)
/* The same where the large-count form has other arrays. */
#define ARRAYS_FAIL(class, Name, name, ...) \
    do { \
        FAILS(class, MPI_##Name(__VA_ARGS__)); \
        if (!strict()) break; \
        FAILS(class, MPI_I##name(__VA_ARGS__, &request)); \
        FAILS(class, MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)); \
    } while (0)

static void communicators(void)
{
    MPI_Comm none = MPI_COMM_NULL;
    FAILS(MPI_ERR_COMM, MPI_Barrier(none));
    FAILS(MPI_ERR_COMM, MPI_Ibarrier(none, &request));
    FAILS(MPI_ERR_COMM, MPI_Barrier_init(none, MPI_INFO_NULL, &request));
    ALL_FAIL(MPI_ERR_COMM, Bcast, bcast, a, 1, MPI_INT, 0, none);
    ALL_FAIL(MPI_ERR_COMM, Gather, gather, a, 1, MPI_INT, b, 1, MPI_INT, 0, none);
    ALL_FAIL(MPI_ERR_COMM, Scatter, scatter, a, 1, MPI_INT, b, 1, MPI_INT, 0, none);
    ALL_FAIL(MPI_ERR_COMM, Allgather, allgather, a, 1, MPI_INT, b, 1, MPI_INT, none);
    ALL_FAIL(MPI_ERR_COMM, Alltoall, alltoall, a, 1, MPI_INT, b, 1, MPI_INT, none);
    ALL_FAIL(MPI_ERR_COMM, Reduce, reduce, a, b, 1, MPI_INT, MPI_SUM, 0, none);
    ALL_FAIL(MPI_ERR_COMM, Allreduce, allreduce, a, b, 1, MPI_INT, MPI_SUM, none);
    ALL_FAIL(MPI_ERR_COMM, Reduce_scatter_block, reduce_scatter_block, a, b, 1, MPI_INT, MPI_SUM, none);
    ALL_FAIL(MPI_ERR_COMM, Scan, scan, a, b, 1, MPI_INT, MPI_SUM, none);
    ALL_FAIL(MPI_ERR_COMM, Exscan, exscan, a, b, 1, MPI_INT, MPI_SUM, none);
    ALL_FAIL(MPI_ERR_COMM, Neighbor_allgather, neighbor_allgather, a, 1, MPI_INT, b, 1, MPI_INT, none);
    ALL_FAIL(MPI_ERR_COMM, Neighbor_alltoall, neighbor_alltoall, a, 1, MPI_INT, b, 1, MPI_INT, none);
    ARRAYS_FAIL(MPI_ERR_COMM, Gatherv, gatherv, a, 1, MPI_INT, b, n, d, MPI_INT, 0, none);
    ARRAYS_FAIL(MPI_ERR_COMM, Scatterv, scatterv, a, n, d, MPI_INT, b, 1, MPI_INT, 0, none);
    ARRAYS_FAIL(MPI_ERR_COMM, Allgatherv, allgatherv, a, 1, MPI_INT, b, n, d, MPI_INT, none);
    ARRAYS_FAIL(MPI_ERR_COMM, Alltoallv, alltoallv, a, n, d, MPI_INT, b, n, d, MPI_INT, none);
    ARRAYS_FAIL(MPI_ERR_COMM, Alltoallw, alltoallw, a, n, d, bytes_of, b, n, d, bytes_of, none);
    ARRAYS_FAIL(MPI_ERR_COMM, Reduce_scatter, reduce_scatter, a, b, n, MPI_INT, MPI_SUM, none);
    if (strict()) {
        MPI_Comm copy, freed;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
        freed = copy;
        OK(MPI_Comm_free(&copy));
        FAILS(MPI_ERR_COMM, MPI_Barrier(freed));
        ALL_FAIL(MPI_ERR_COMM, Bcast, bcast, a, 1, MPI_INT, 0, freed);
    }
}

static void roots(void)
{
    const int wrong[] = {-1, size, MPI_ROOT, MPI_PROC_NULL};
    for (int i = 0; i < 4; i++) {
        ALL_FAIL(MPI_ERR_ROOT, Bcast, bcast, a, 1, MPI_INT, wrong[i], MPI_COMM_WORLD);
        ALL_FAIL(MPI_ERR_ROOT, Gather, gather, a, 1, MPI_INT, b, 1, MPI_INT, wrong[i], MPI_COMM_WORLD);
        ALL_FAIL(MPI_ERR_ROOT, Scatter, scatter, a, 1, MPI_INT, b, 1, MPI_INT, wrong[i], MPI_COMM_WORLD);
        ALL_FAIL(MPI_ERR_ROOT, Reduce, reduce, a, b, 1, MPI_INT, MPI_SUM, wrong[i], MPI_COMM_WORLD);
        ARRAYS_FAIL(MPI_ERR_ROOT, Gatherv, gatherv, a, 1, MPI_INT, b, n, d, MPI_INT, wrong[i], MPI_COMM_WORLD);
        ARRAYS_FAIL(MPI_ERR_ROOT, Scatterv, scatterv, a, n, d, MPI_INT, b, 1, MPI_INT, wrong[i], MPI_COMM_WORLD);
    }
}

static void counts_and_types(void)
{
    const int bad_count[] = {-1, 1};
    MPI_Datatype bad_type[] = {MPI_INT, MPI_DATATYPE_NULL};
    for (int i = 0; i < 2; i++) {
        int c = bad_count[i], class = i ? MPI_ERR_TYPE : MPI_ERR_COUNT;
        MPI_Datatype t = bad_type[i];
        ALL_FAIL(class, Bcast, bcast, a, c, t, 0, MPI_COMM_WORLD);
        if (!strict()) continue;
        ALL_FAIL(class, Allgather, allgather, a, c, t, b, 1, MPI_INT, MPI_COMM_WORLD);
        ALL_FAIL(class, Allgather, allgather, a, 1, MPI_INT, b, c, t, MPI_COMM_WORLD);
        ALL_FAIL(class, Alltoall, alltoall, a, c, t, b, 1, MPI_INT, MPI_COMM_WORLD);
        ALL_FAIL(class, Alltoall, alltoall, a, 1, MPI_INT, b, c, t, MPI_COMM_WORLD);
        ALL_FAIL(class, Allreduce, allreduce, a, b, c, t, MPI_SUM, MPI_COMM_WORLD);
        ALL_FAIL(class, Reduce, reduce, a, b, c, t, MPI_SUM, 0, MPI_COMM_WORLD);
        ALL_FAIL(class, Scan, scan, a, b, c, t, MPI_SUM, MPI_COMM_WORLD);
        ALL_FAIL(class, Exscan, exscan, a, b, c, t, MPI_SUM, MPI_COMM_WORLD);
        ALL_FAIL(class, Reduce_scatter_block, reduce_scatter_block, a, b, c, t, MPI_SUM, MPI_COMM_WORLD);
    }
    if (!strict()) return;
    MPI_Datatype open;
    OK(MPI_Type_contiguous(1, MPI_INT, &open));
    ALL_FAIL(MPI_ERR_TYPE, Bcast, bcast, a, 1, open, 0, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_TYPE, Allgather, allgather, a, 1, open, b, 1, MPI_INT, MPI_COMM_WORLD);
    OK(MPI_Type_free(&open));
    int negative[64];
    MPI_Datatype no_types[64];
    for (int r = 0; r < 64; r++) negative[r] = r == size - 1 ? -3 : 1, no_types[r] = MPI_DATATYPE_NULL;
    ARRAYS_FAIL(MPI_ERR_COUNT, Allgatherv, allgatherv, a, 1, MPI_INT, b, negative, d, MPI_INT, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_COUNT, Alltoallv, alltoallv, a, n, d, MPI_INT, b, negative, d, MPI_INT, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_COUNT, Alltoallv, alltoallv, a, negative, d, MPI_INT, b, n, d, MPI_INT, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_TYPE, Alltoallw, alltoallw, a, n, d, no_types, b, n, d, bytes_of, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_COUNT, Reduce_scatter, reduce_scatter, a, b, negative, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_ARG, Allgatherv, allgatherv, a, 1, MPI_INT, b, NULL, d, MPI_INT, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_ARG, Alltoallv, alltoallv, a, n, NULL, MPI_INT, b, n, d, MPI_INT, MPI_COMM_WORLD);
}

static void buffers(void)
{
    ALL_FAIL(MPI_ERR_BUFFER, Bcast, bcast, NULL, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Allreduce, allreduce, NULL, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Allreduce, allreduce, a, NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Allreduce, allreduce, a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Allreduce, allreduce, a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Scan, scan, a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Allgather, allgather, a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, MPI_COMM_WORLD);
    if (!strict()) return;
    ALL_FAIL(MPI_ERR_BUFFER, Bcast, bcast, MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Allgather, allgather, b + rank, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD);
    ALL_FAIL(MPI_ERR_BUFFER, Alltoall, alltoall, b, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_BUFFER, Allgatherv, allgatherv, b + rank, 1, MPI_INT, b, n, d, MPI_INT, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_BUFFER, Alltoallv, alltoallv, b, n, d, MPI_INT, b, n, d, MPI_INT, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_BUFFER, Alltoallw, alltoallw, b, n, d, bytes_of, b, n, d, bytes_of, MPI_COMM_WORLD);
    ARRAYS_FAIL(MPI_ERR_BUFFER, Gatherv, gatherv, b, 1, MPI_INT, b, n, d, MPI_INT, 0, MPI_COMM_SELF);
    ARRAYS_FAIL(MPI_ERR_BUFFER, Scatterv, scatterv, b, n, d, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_SELF);
    ALL_FAIL(MPI_ERR_BUFFER, Reduce_scatter_block, reduce_scatter_block, a, NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    FAILS(MPI_ERR_ARG, MPI_Ibarrier(MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Ibcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD, NULL));
    /* Nothing to send needs no buffer. */
    OK(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    /* Rank 0 gets nothing from an exclusive scan. */
    a[0] = 1;
    OK(MPI_Exscan(a, rank ? b : NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(rank == 0 || b[0] == rank);
}

/* Buffers that begin at the same address, and have no byte in common: the even and the odd elements of an array. */
static void interleaved(void)
{
    int both[128], from[64], zeros[64] = {0};
    MPI_Datatype element, even, odd, evens[64], odds[64];
    if (!strict()) return;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &even));
    OK(MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){sizeof(int)}, MPI_INT, &element));
    OK(MPI_Type_create_resized(element, 0, 2 * sizeof(int), &odd));
    OK(MPI_Type_commit(&even));
    OK(MPI_Type_commit(&odd));
    for (int r = 0; r < size; r++) evens[r] = even, odds[r] = odd, from[r] = 2 * (int)sizeof(int) * r;
    for (int way = 0; way < 5; way++) {
        for (int r = 0; r < size; r++) both[2 * r] = 100 * rank + r, both[2 * r + 1] = -1;
        switch (way) {
        case 0: OK(MPI_Alltoall(both, 1, even, both, 1, odd, MPI_COMM_WORLD)); break;
        case 1: OK(MPI_Alltoallv(both, n, d, even, both, n, d, odd, MPI_COMM_WORLD)); break;
        case 2: OK(MPI_Alltoallw(both, n, from, evens, both, n, from, odds, MPI_COMM_WORLD)); break;
        case 3: OK(MPI_Allgather(both + 2 * rank, 1, even, both, 1, odd, MPI_COMM_WORLD)); break;
        case 4: OK(MPI_Allgatherv(both + 2 * rank, 1, even, both, n, d, odd, MPI_COMM_WORLD)); break;
        }
        for (int r = 0; r < size; r++)
            CHECK(both[2 * r + 1] == 100 * r + (way < 3 ? rank : r), "way %d: %d from %d", way, both[2 * r + 1], r);
    }
    /* Nothing lies nowhere. */
    OK(MPI_Alltoallv(a, zeros, d, MPI_INT, a, zeros, d, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Type_free(&element));
    OK(MPI_Type_free(&even));
    OK(MPI_Type_free(&odd));
}

/* True where small blocking collectives go over control lines: by them members see what the others have called. */
static int has_lines(void)
{
    MPI_Comm node;
    int near;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &near));
    OK(MPI_Comm_free(&node));
    return near == size && getenv("TERN_CHECK") == NULL && getenv("TERN_COLL_LINES") == NULL;
}

/* Members that do not agree: found where the difference shows. */
static void disagreements(void)
{
    int code, class;
    MPI_Comm comm;
    if (size < 2 || !strict()) return;
    /* Less room than the root sends, over messages and over the small blocking path. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    OK(MPI_Ibcast(a, rank == 0 ? 2 : 1, MPI_INT, 0, comm, &request));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    /* Who gets the data from another member that has less room sees nothing wrong. */
    int found = class == MPI_ERR_TRUNCATE, all_found = 0;
    OK(MPI_Allreduce(&found, &all_found, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all_found > 0 && (found || class == MPI_SUCCESS), "class %d", class);
    /* Such programs are wrong. Over messages members wait for what nobody sends, as MPI allows; TERN_CHECK tells why. */
    if (!has_lines()) {
        if (rank == 0) printf("SKIP calls that members do not agree about: there are no control lines\n");
        OK(MPI_Comm_free(&comm));
        return;
    }
    code = MPI_Bcast(a, rank == 0 ? 2 : 1, MPI_INT, 0, comm);
    MPI_Error_class(code, &class);
    CHECK(rank == 0 || class == MPI_ERR_TRUNCATE, "class %d", class);
    OK(MPI_Barrier(comm));
    /* Each waits for a root that waits for a root. */
    code = MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, rank, comm);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_ROOT, "class %d", class);
    OK(MPI_Barrier(comm));
    code = rank == 0 ? MPI_Barrier(comm) : MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, comm);
    CHECK(code != MPI_SUCCESS);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int r = 0; r < 64; r++) n[r] = 1, d[r] = r, bytes_of[r] = MPI_INT;
    communicators();
    roots();
    counts_and_types();
    buffers();
    interleaved();
    disagreements();
    CHECK(request == MPI_REQUEST_NULL);
    /* All that is forgotten: the communicator works. */
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size);
    return finish();
}
