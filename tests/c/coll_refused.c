// Collectives that are refused at some ranks only, for their arguments there. Where the others have not made the call, nothing
// has changed. Where they have, those that need that rank's part get an error, and nobody waits for ever. In both cases the
// next collectives go on in step.
// ranks: 2 4
// nodes: 1
// timeout: 90
#include "check.h"

enum { MOST = 1 << 18 };
static int a[MOST], b[MOST], counts[8], displs[8];
static MPI_Datatype types[8];

/* Collectives work, all kinds of them: by lines, in parts, by messages. */
static void in_step(int line)
{
    int one = 1, sum = 0, root = 0, all[8];
    OK(MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    CHECK(rank || sum == size, "after line %d: %d", line, sum);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size, "after line %d: %d", line, sum);
    root = rank == size - 1 ? line : 0;
    OK(MPI_Bcast(&root, 1, MPI_INT, size - 1, MPI_COMM_WORLD));
    CHECK(root == line, "after line %d: %d", line, root);
    OK(MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == i, "after line %d", line);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank `wrong` alone makes the call. */
#define ALONE(wrong, call) do { \
    if (rank == (wrong)) CHECK((call) != MPI_SUCCESS); \
    in_step(__LINE__); \
} while (0)

/* All make the call; at rank `wrong` it is another, which is refused; `missing` tells which of the others need its part. */
#define APART(wrong, refused, call, missing) do { \
    int at = (wrong), code_; \
    if (rank == at) { code_ = (refused); CHECK(code_ != MPI_SUCCESS, "line %d", __LINE__); } \
    else { code_ = (call); CHECK((code_ != MPI_SUCCESS) == !!(missing), "line %d: code %d", __LINE__, code_); } \
    in_step(__LINE__); \
} while (0)

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD;
    begin(&argc, &argv);
    const int last = size - 1;
    for (int i = 0; i < 8; i++) {
        counts[i] = 1;
        displs[i] = i;
        types[i] = MPI_INT;
    }
    in_step(0);
    for (int w = 0; w < size; w += last) {
        ALONE(w, MPI_Gather(b, 1, MPI_INT, b + rank, -1, MPI_INT, w, world));
        ALONE(w, MPI_Gatherv(b + w, 1, MPI_INT, b, counts, displs, MPI_INT, w, world));
        ALONE(w, MPI_Scatter(b, 1, MPI_INT, b + w, 1, MPI_INT, w, world));
        ALONE(w, MPI_Reduce(b, b, 1, MPI_INT, MPI_SUM, w, world));
        ALONE(w, MPI_Bcast(b, -1, MPI_INT, w, world));
        ALONE(w, MPI_Allreduce(b, b, 1, MPI_INT, MPI_SUM, world));
        ALONE(w, MPI_Barrier(MPI_COMM_NULL));
        /* By lines, in one turn. */
        APART(w, MPI_Bcast(b, -1, MPI_INT, w, world), MPI_Bcast(b, 2, MPI_INT, w, world), 1);
        APART(w, MPI_Bcast(b, -1, MPI_INT, last - w, world), MPI_Bcast(b, 2, MPI_INT, last - w, world), 0);
        APART(w, MPI_Allreduce(b, b, 2, MPI_INT, MPI_SUM, world), MPI_Allreduce(a, b, 2, MPI_INT, MPI_SUM, world), 1);
        APART(w, MPI_Reduce(b, b, 2, MPI_INT, MPI_SUM, w, world), MPI_Reduce(a, b, 2, MPI_INT, MPI_SUM, w, world), 0);
        APART(w, MPI_Reduce(b, b, 1, MPI_DATATYPE_NULL, MPI_SUM, last - w, world),
              MPI_Reduce(a, b, 2, MPI_INT, MPI_SUM, last - w, world), rank == last - w);
        APART(w, MPI_Gather(a, 1, MPI_INT, b, -1, MPI_INT, w, world), MPI_Gather(a, 1, MPI_INT, NULL, 0, MPI_INT, w, world), 0);
        APART(w, MPI_Gather(a, -1, MPI_INT, b, 1, MPI_INT, last - w, world),
              MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, last - w, world), rank == last - w);
        APART(w, MPI_Scatter(a, -1, MPI_INT, b, 1, MPI_INT, w, world), MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, w, world), 1);
        APART(w, MPI_Allgather(a, -1, MPI_INT, b, 1, MPI_INT, world), MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_INT, world), 1);
        APART(w, MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, world), MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, world), 1);
        APART(w, MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, world), MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, world), rank > w);
        APART(w, MPI_Exscan(a, a, 1, MPI_INT, MPI_SUM, world), MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, world), rank > w);
        APART(w, MPI_Reduce_scatter_block(a, a, 1, MPI_INT, MPI_SUM, world),
              MPI_Reduce_scatter_block(a, b, 1, MPI_INT, MPI_SUM, world), 1);
        /* In parts, or by messages, as long as they are. */
        for (int n = 3000; n <= MOST / 4; n *= 4) {
            int own = MOST / 4 / size < n ? MOST / 4 / size : n;
            APART(w, MPI_Bcast(b, -1, MPI_INT, w, world), MPI_Bcast(b, n, MPI_INT, w, world), 1);
            APART(w, MPI_Bcast(b, -1, MPI_INT, last - w, world), MPI_Bcast(b, n, MPI_INT, last - w, world),
                  code_ != MPI_SUCCESS);
            APART(w, MPI_Allreduce(b, b, n, MPI_INT, MPI_SUM, world), MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, world), 1);
            APART(w, MPI_Reduce(a, b, -1, MPI_INT, MPI_SUM, last - w, world),
                  MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, last - w, world), rank == last - w || code_ != MPI_SUCCESS);
            APART(w, MPI_Gather(a, own, MPI_INT, b, -1, MPI_INT, w, world),
                  MPI_Gather(a, own, MPI_INT, NULL, 0, MPI_INT, w, world), code_ != MPI_SUCCESS);
            APART(w, MPI_Gather(a, -1, MPI_INT, b, own, MPI_INT, last - w, world),
                  MPI_Gather(a, own, MPI_INT, b, own, MPI_INT, last - w, world), rank == last - w || code_ != MPI_SUCCESS);
            APART(w, MPI_Allgather(a, -1, MPI_INT, b, own, MPI_INT, world),
                  MPI_Allgather(a, own, MPI_INT, b, own, MPI_INT, world), 1);
            APART(w, MPI_Alltoall(a, own, MPI_INT, a, own, MPI_INT, world),
                  MPI_Alltoall(a, own, MPI_INT, b, own, MPI_INT, world), 1);
        }
        /* By messages always. */
        APART(w, MPI_Allgatherv(a, -1, MPI_INT, b, counts, displs, MPI_INT, world),
              MPI_Allgatherv(a, 1, MPI_INT, b, counts, displs, MPI_INT, world), 1);
        APART(w, MPI_Gatherv(a, -1, MPI_INT, b, counts, displs, MPI_INT, last - w, world),
              MPI_Gatherv(a, 1, MPI_INT, b, counts, displs, MPI_INT, last - w, world), rank == last - w || code_ != MPI_SUCCESS);
        APART(w, MPI_Alltoallv(a, counts, displs, MPI_INT, a, counts, displs, MPI_INT, world),
              MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, world), 1);
        APART(w, MPI_Reduce_scatter(a, a, counts, MPI_INT, MPI_SUM, world),
              MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, world), 1);
        /* Two calls, of which the others make the second only. */
        if (rank == w)
            CHECK(MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, world) != MPI_SUCCESS);
        APART(w, MPI_Allreduce(a, a, 1, MPI_INT, MPI_MAX, world), MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, world), code_ != MPI_SUCCESS);
        /* All but one refuse it. */
        APART(rank == w ? -1 : rank, MPI_Allreduce(a, a, 3, MPI_INT, MPI_SUM, world),
              MPI_Allreduce(a, b, 3, MPI_INT, MPI_SUM, world), 1);
        /* Communicators that are not made. */
        MPI_Comm made = MPI_COMM_NULL;
        int dims = rank == w ? -1 : size, periods = 0;
        ALONE(w, MPI_Comm_split(world, -5, 0, &made));
        APART(w, MPI_Comm_split(world, -5, 0, &made), MPI_Comm_split(world, 0, 0, &made), 1);
        APART(w, MPI_Comm_create(world, MPI_GROUP_NULL, &made), MPI_Comm_dup(world, &made), 1);
        APART(w, MPI_Cart_create(world, 1, &dims, &periods, 0, &made), MPI_Cart_create(world, 1, &dims, &periods, 0, &made), 1);
        /* The next collective makes a communicator. */
        if (rank == w)
            CHECK(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, world) != MPI_SUCCESS);
        else
            CHECK(MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, world) != MPI_SUCCESS);
        MPI_Comm copy;
        OK(MPI_Comm_dup(world, &copy));
        /* On that one the last thing is a call that is refused: who waits there goes on when it is freed. */
        if (rank == w)
            CHECK(MPI_Bcast(a, -1, MPI_INT, w, copy) != MPI_SUCCESS);
        else
            CHECK(MPI_Bcast(a, 1, MPI_INT, w, copy) != MPI_SUCCESS);
        OK(MPI_Comm_free(&copy));
        in_step(__LINE__);
    }
    /* And all refuse. */
    FAILS(MPI_ERR_BUFFER, MPI_Exscan(a, a, 1, MPI_INT, MPI_SUM, world));
    in_step(__LINE__);
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, world));
    /* Twice alike: which of the two was refused cannot be told, but nobody waits for ever. */
    if (rank == 0)
        CHECK(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, world) != MPI_SUCCESS);
    else
        MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, world);
    MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, world);
    MPI_Barrier(world);
    in_step(__LINE__);
    if (rank == 0)
        CHECK(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, world) != MPI_SUCCESS);
    else
        MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, world);
    MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, world);
    if (argc > 1)
        return finish();
    /* The end is a collective too. */
    if (rank == 0)
        CHECK(MPI_Bcast(a, -1, MPI_INT, 0, world) != MPI_SUCCESS);
    else
        CHECK(MPI_Bcast(a, 1, MPI_INT, 0, world) != MPI_SUCCESS);
    return finish();
}
