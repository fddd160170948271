// Collectives that go by messages, nonblocking ones and those of intercommunicators, which are refused at some ranks only, for
// their arguments there. Those that need that rank's part get an error, nobody waits for ever, and the next ones go on in step.
// ranks: 2 4
// timeout: 90
#include "check.h"

enum { LONG = 1 << 18 };
static int a[LONG], b[LONG], counts[8], displs[8];
static MPI_Datatype types[8];

static int ended(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

/* Nonblocking collectives work, and blocking ones. */
static void in_step(MPI_Comm comm, int line)
{
    int one = 1, sum = 0, root = rank == size - 1 ? line : 0, all[8];
    MPI_Request requests[4];
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]));
    OK(MPI_Ibcast(&root, 1, MPI_INT, size - 1, comm, &requests[1]));
    OK(MPI_Iallgatherv(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, comm, &requests[2]));
    OK(MPI_Ibarrier(comm, &requests[3]));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == size && root == line, "after line %d: %d, %d", line, sum, root);
    for (int i = 0; i < size; i++)
        CHECK(all[i] == i, "after line %d", line);
    sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size, "after line %d: %d", line, sum);
}

/* All make the call, with request `r`; at rank `wrong` it is another, which is refused. `missing` tells which of the others fail. */
#define APART(comm, wrong, refused, call, missing) do { \
    MPI_Request r = MPI_REQUEST_NULL; \
    int code_; \
    if (rank == (wrong)) { code_ = (refused); CHECK(code_ != MPI_SUCCESS, "line %d", __LINE__); } \
    else { code_ = ended((call), &r); CHECK((code_ != MPI_SUCCESS) == !!(missing), "line %d: code %d", __LINE__, code_); } \
    in_step(comm, __LINE__); \
} while (0)

static void nonblocking(MPI_Comm comm, int w)
{
    const int last = size - 1;
    APART(comm, w, MPI_Ibcast(b, -1, MPI_INT, w, comm, &r), MPI_Ibcast(b, 2, MPI_INT, w, comm, &r), 1);
    APART(comm, w, MPI_Ibcast(b, 2, MPI_DATATYPE_NULL, w, comm, &r), MPI_Ibcast(b, LONG, MPI_INT, w, comm, &r), 1);
    APART(comm, w, MPI_Ibcast(b, -1, MPI_INT, last - w, comm, &r), MPI_Ibcast(b, 2, MPI_INT, last - w, comm, &r),
          code_ != MPI_SUCCESS);
    APART(comm, w, MPI_Iallreduce(b, b, 2, MPI_INT, MPI_SUM, comm, &r), MPI_Iallreduce(a, b, 2, MPI_INT, MPI_SUM, comm, &r), 1);
    APART(comm, w, MPI_Iallreduce(a, b, -1, MPI_INT, MPI_SUM, comm, &r),
          MPI_Iallreduce(a, b, LONG, MPI_INT, MPI_SUM, comm, &r), 1);
    /* What they send is long, and nobody takes it. */
    APART(comm, w, MPI_Igather(a, 1, MPI_INT, b, -1, MPI_INT, w, comm, &r),
          MPI_Igather(a, LONG / 8, MPI_INT, NULL, 0, MPI_INT, w, comm, &r), code_ != MPI_SUCCESS);
    APART(comm, w, MPI_Igatherv(a, 1, MPI_INT, b, counts, displs, MPI_DATATYPE_NULL, w, comm, &r),
          MPI_Igatherv(a, LONG / 8, MPI_INT, NULL, NULL, NULL, MPI_INT, w, comm, &r), code_ != MPI_SUCCESS);
    APART(comm, w, MPI_Igather(a, -1, MPI_INT, b, 1, MPI_INT, last - w, comm, &r),
          MPI_Igather(a, 1, MPI_INT, b, 1, MPI_INT, last - w, comm, &r), rank == last - w || code_ != MPI_SUCCESS);
    APART(comm, w, MPI_Iscatter(a, -1, MPI_INT, b, 1, MPI_INT, w, comm, &r),
          MPI_Iscatter(a, 1, MPI_INT, b, 1, MPI_INT, w, comm, &r), 1);
    APART(comm, w, MPI_Ireduce(a, b, 1, MPI_INT, MPI_OP_NULL, last - w, comm, &r),
          MPI_Ireduce(a, b, LONG, MPI_INT, MPI_SUM, last - w, comm, &r), rank == last - w || code_ != MPI_SUCCESS);
    APART(comm, w, MPI_Iallgather(a, -1, MPI_INT, b, 1, MPI_INT, comm, &r),
          MPI_Iallgather(a, 1, MPI_INT, b, 1, MPI_INT, comm, &r), 1);
    APART(comm, w, MPI_Iallgatherv(a, -1, MPI_INT, b, counts, displs, MPI_INT, comm, &r),
          MPI_Iallgatherv(a, 1, MPI_INT, b, counts, displs, MPI_INT, comm, &r), 1);
    APART(comm, w, MPI_Ialltoall(a, 1, MPI_INT, a, 1, MPI_INT, comm, &r),
          MPI_Ialltoall(a, LONG / 8, MPI_INT, b, LONG / 8, MPI_INT, comm, &r), 1);
    APART(comm, w, MPI_Ialltoallv(a, counts, displs, MPI_INT, a, counts, displs, MPI_INT, comm, &r),
          MPI_Ialltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, comm, &r), 1);
    APART(comm, w, MPI_Ireduce_scatter_block(a, a, 1, MPI_INT, MPI_SUM, comm, &r),
          MPI_Ireduce_scatter_block(a, b, 1, MPI_INT, MPI_SUM, comm, &r), 1);
    APART(comm, w, MPI_Iscan(a, a, 1, MPI_INT, MPI_SUM, comm, &r),
          MPI_Iscan(a, b, 1, MPI_INT, MPI_SUM, comm, &r), rank > w || code_ != MPI_SUCCESS);
    /* All but one refuse it, and all. */
    APART(comm, rank == w ? -1 : rank, MPI_Iallreduce(a, a, 3, MPI_INT, MPI_SUM, comm, &r),
          MPI_Iallreduce(a, b, 3, MPI_INT, MPI_SUM, comm, &r), 1);
    APART(comm, rank, MPI_Iallreduce(a, a, 3, MPI_INT, MPI_SUM, comm, &r), MPI_SUCCESS, 1);
}

/* Blocking ones between the even and the odd ranks. */
static void between(MPI_Comm world, int w)
{
    MPI_Comm half, both;
    MPI_Request none = MPI_REQUEST_NULL;
    int sum, one = 1, code, mine;
    OK(MPI_Comm_split(world, rank % 2, 0, &half));
    OK(MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 0, &both));
    OK(MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN));
    for (int round = 0; round < 2; round++) {
        /* Of rank `w`, the root, whose group is the one that sends. */
        int root = rank == w ? MPI_ROOT : rank % 2 == w % 2 ? MPI_PROC_NULL : w / 2;
        mine = rank == w ? -1 : 2;
        if (round == 0)
            code = MPI_Bcast(a, mine, MPI_INT, root, both);
        else
            code = ended(MPI_Ibcast(a, mine, MPI_INT, root, both, &none), &none);
        CHECK((code != MPI_SUCCESS) == (root != MPI_PROC_NULL), "round %d: code %d", round, code);
        code = MPI_Allreduce(a, b, rank == w ? -1 : 2, MPI_INT, MPI_SUM, both);
        CHECK(code != MPI_SUCCESS || rank % 2 == w % 2, "round %d: code %d", round, code);
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both));
        CHECK(sum == (size + rank % 2) / 2, "%d", sum);
    }
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD, copy;
    begin(&argc, &argv);
    for (int i = 0; i < 8; i++) {
        counts[i] = 1;
        displs[i] = i;
        types[i] = MPI_INT;
    }
    in_step(world, 0);
    for (int w = 0; w < size; w += size - 1) {
        nonblocking(world, w);
        between(world, w);
        /* What is left of a refusal does not reach the next communicator of the same context. */
        for (int i = 0; i < 3; i++) {
            MPI_Request r = MPI_REQUEST_NULL;
            OK(MPI_Comm_dup(world, &copy));
            int code = ended(MPI_Igather(a, 1, MPI_INT, b, rank == w ? -1 : 1, MPI_INT, w, copy, &r), &r);
            CHECK(code == MPI_SUCCESS || rank == w || size > 2, "code %d", code);
            OK(MPI_Comm_free(&copy));
        }
        /* Neighbours in a ring. */
        int periodic = 1;
        OK(MPI_Cart_create(world, 1, &size, &periodic, 0, &copy));
        APART(copy, w, MPI_Ineighbor_alltoall(a, -1, MPI_INT, b, 1, MPI_INT, copy, &r),
              MPI_Ineighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, copy, &r), (rank - w + size) % size == 1 || (w - rank + size) % size == 1);
        OK(MPI_Comm_free(&copy));
    }
    return finish();
}
