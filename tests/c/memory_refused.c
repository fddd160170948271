// ranks: 2 3
// timeout: 120
// Calls that need more memory than the process may have fail with MPI_ERR_NO_MEM, each at the error handler of its object. What comes
// after them goes well, with the same objects.
#define _GNU_SOURCE
#include "limit.h"
#include <malloc.h>

enum {
    LONG = 12 << 20,    /* Ints of a vector: 48 MiB. */
    SLACK = 12 << 20,   /* Bytes that may be allocated. */
};

static int *in, *out;

/* The call is one that fails while memory is short, at each process by itself. */
#define SHORT(call) \
    do { \
        struct rlimit before_ = limit_to(SLACK); \
        FAILS(MPI_ERR_NO_MEM, call); \
        lift(before_); \
        works(); \
    } while (0)

/* What is short goes well on the same communicator. */
static void works(void)
{
    int own = rank + 1, sum = 0, all[8];
    OK(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size + 1) / 2, "sum %d", sum);
    OK(MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int other = 0; other < size; other++)
        CHECK(all[other] == other + 1, "of rank %d: %d", other, all[other]);
    own = rank;
    MPI_Sendrecv_replace(&own, 1, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(own == (rank + size - 1) % size);
}

/* A collective, `request` its request or null, of which some members need much memory: those that do get MPI_ERR_NO_MEM, and others
 * success, or the error that one of those has refused it. */
#define PARTLY(call) \
    do { \
        MPI_Request request = MPI_REQUEST_NULL; \
        int class_, refused_ = 0, any_ = 0; \
        struct rlimit before_ = limit_to(SLACK); \
        int code_ = call; \
        code_ = code_ ? code_ : MPI_Wait(&request, MPI_STATUS_IGNORE); \
        lift(before_); \
        MPI_Error_class(code_, &class_); \
        refused_ = class_ == MPI_ERR_NO_MEM; \
        CHECK(refused_ || class_ == MPI_ERR_OTHER || class_ == MPI_SUCCESS, "%s: class %d", #call, class_); \
        OK(MPI_Allreduce(&refused_, &any_, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD)); \
        CHECK(any_, "%s: no member lacks memory", #call); \
        works(); \
    } while (0)

static void add(void *a, void *b, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int at = 0; at < *count; at++)
        ((int *)b)[at] += ((int *)a)[at];
}

static void collectives(void)
{
    MPI_Op sum;
    MPI_Datatype column;
    MPI_Op_create(add, 0, &sum);
    MPI_Type_vector(LONG / 2 / size, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    int counts[8], places[8];
    MPI_Datatype types[8];
    for (int other = 0; other < size; other++) {
        counts[other] = 1;
        places[other] = other * (LONG / size) * (int)sizeof(int);
        types[other] = column;
    }
    PARTLY(MPI_Alltoall(MPI_IN_PLACE, LONG / size, MPI_INT, out, LONG / size, MPI_INT, MPI_COMM_WORLD));
    PARTLY(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, counts, places, types, MPI_COMM_WORLD));
    PARTLY(MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, counts, places, types, MPI_COMM_WORLD, &request));
    PARTLY(MPI_Scan(in, out, LONG, MPI_INT, sum, MPI_COMM_WORLD));
    PARTLY(MPI_Exscan(MPI_IN_PLACE, out, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    PARTLY(MPI_Allreduce(MPI_IN_PLACE, out, LONG, MPI_INT, sum, MPI_COMM_WORLD));
    PARTLY(MPI_Reduce_scatter_block(in, out, LONG / size, MPI_INT, sum, MPI_COMM_WORLD));
    PARTLY(MPI_Iallreduce(MPI_IN_PLACE, out, LONG, MPI_INT, sum, MPI_COMM_WORLD, &request));
    /* All members make persistent ones in one order: the next one has its own messages. */
    MPI_Request first, second;
    struct rlimit before = limit_to(SLACK);
    FAILS(MPI_ERR_NO_MEM, MPI_Alltoall_init(MPI_IN_PLACE, 0, MPI_INT, out, LONG / size, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &first));
    lift(before);
    OK(MPI_Allreduce_init(in, out, 3, MPI_INT, sum, MPI_COMM_WORLD, MPI_INFO_NULL, &second));
    for (int at = 0; at < 3; at++)
        in[at] = rank + at;
    MPI_Start(&second);
    OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
    for (int at = 0; at < 3; at++)
        CHECK(out[at] == size * (size - 1) / 2 + size * at, "%d", out[at]);
    MPI_Request_free(&second);
    MPI_Op_free(&sum);
    MPI_Type_free(&column);
}

/* At one process alone: it gets the error, and no other one gets a wrong result without an error. */
static void at_one(int (*call)(MPI_Comm), const char *what)
{
    for (int turn = 0; turn < 2; turn++) {
        MPI_Comm comm = MPI_COMM_WORLD;
        if (turn == 1)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        int class, code;
        if (rank == size - 1) {
            struct rlimit before = limit_to(SLACK);
            code = call(comm);
            lift(before);
            MPI_Error_class(code, &class);
            CHECK(class == MPI_ERR_NO_MEM, "%s: class %d", what, class);
        } else {
            code = call(comm);
            MPI_Error_class(code, &class);
            CHECK(class == MPI_ERR_OTHER, "%s: class %d where another process has no memory", what, class);
        }
        works();
        if (turn == 1)
            MPI_Comm_free(&comm);
    }
}

static int in_place(MPI_Comm comm)
{
    return MPI_Alltoall(MPI_IN_PLACE, LONG / size, MPI_INT, out, LONG / size, MPI_INT, comm);
}

static int nonblocking(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Ialltoall(MPI_IN_PLACE, LONG / size, MPI_INT, out, LONG / size, MPI_INT, comm, &request);
    return code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A list of displacements without a pattern. */
static void datatypes(void)
{
    enum { BLOCKS = 1 << 20 };
    int *lengths = calloc(BLOCKS, sizeof *lengths), *places = calloc(BLOCKS, sizeof *places);
    MPI_Aint *far = calloc(BLOCKS, sizeof *far);
    MPI_Datatype *types = calloc(BLOCKS, sizeof *types), made;
    for (int at = 0; at < BLOCKS; at++) {
        lengths[at] = 1 + at % 3;
        places[at] = 5 * at + at % 2;
        far[at] = 40 * (MPI_Aint)at + at % 7;
        types[at] = at % 2 ? MPI_INT : MPI_CHAR;
    }
    SHORT(MPI_Type_indexed(BLOCKS, lengths, places, MPI_INT, &made));
    SHORT(MPI_Type_create_hindexed(BLOCKS, lengths, far, MPI_INT, &made));
    SHORT(MPI_Type_create_indexed_block(BLOCKS, 1, places, MPI_INT, &made));
    SHORT(MPI_Type_create_struct(BLOCKS, lengths, far, types, &made));
    OK(MPI_Type_create_struct(BLOCKS, lengths, far, types, &made));
    struct rlimit before = limit_to(SLACK / 8);
    OK(MPI_Type_free(&made));
    lift(before);
    free(lengths), free(places), free(far), free(types);
}

static void packs(void)
{
    /* Conversion needs no memory, however long it is. */
    MPI_Aint at = 0;
    char *packed = malloc(LONG * sizeof(int));
    struct rlimit before = limit_to(SLACK);
    OK(MPI_Pack_external("external32", in, LONG, MPI_INT, packed, LONG * sizeof(int), &at));
    at = 0;
    OK(MPI_Unpack_external("external32", packed, LONG * sizeof(int), &at, out, LONG, MPI_INT));
    lift(before);
    free(packed);
}

static void requests(void)
{
    enum { MANY = 4 << 20 };
    MPI_Request *all = malloc(MANY * sizeof *all);
    int flag, index;
    for (int at = 0; at < MANY; at++)
        all[at] = MPI_REQUEST_NULL;
    SHORT(MPI_Testany(MANY, all, &index, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Testany(MANY, all, &index, &flag, MPI_STATUS_IGNORE));
    free(all);
}

static void one_sided(void)
{
    enum { ELEMENTS = LONG / 2 };
    MPI_Win win;
    MPI_Datatype column;
    int *base, other = (rank + 1) % size;
    MPI_Type_vector(ELEMENTS, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Win_allocate(ELEMENTS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(base, 0, ELEMENTS * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < LONG; at++)
        in[at] = at;
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
    struct rlimit before = limit_to(SLACK);
    int codes[2], times = 0, all[8];
    codes[0] = MPI_Accumulate(in, 1, column, other, 0, ELEMENTS, MPI_INT, MPI_SUM, win);
    codes[1] = MPI_Get_accumulate(in, 1, column, out, 1, column, other, 0, ELEMENTS, MPI_INT, MPI_SUM, win);
    OK(MPI_Accumulate(in, 1000, MPI_INT, other, 0, 1000, MPI_INT, MPI_SUM, win));
    lift(before);
    MPI_Win_unlock(other, win);
    for (int call = 0; call < 2; call++) {
        /* Between nodes, and without single copies, they go in short parts, and need no copy. Otherwise nothing has moved. */
        const char *mechanism = getenv("TERN_MECHANISM");
        int in_parts = mechanism && strcmp(mechanism, "pipe") == 0;
        int class, here;
        MPI_Comm near;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
        MPI_Comm_size(near, &here);
        MPI_Comm_free(&near);
        MPI_Error_class(codes[call], &class);
        CHECK(class == MPI_ERR_NO_MEM || (class == MPI_SUCCESS && (in_parts || here < size)), "call %d: class %d", call, class);
        times += class == MPI_SUCCESS;
    }
    MPI_Allgather(&times, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    times = all[(rank + size - 1) % size];
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int at = 0; at < 2000; at++)
        CHECK(base[at] == (at < 1000 ? at : 0) + 2 * at * times, "element %d is %d", at, base[at]);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    MPI_Type_free(&column);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    /* What is freed goes back at once. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    in = calloc(LONG, sizeof *in), out = calloc(LONG, sizeof *out);
    works();
    collectives();
    at_one(in_place, "MPI_Alltoall");
    at_one(nonblocking, "MPI_Ialltoall");
    one_sided();
    packs();
    requests();
    datatypes();
    works();
    return finish();
}
