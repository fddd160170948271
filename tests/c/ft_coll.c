// ranks: 4
// mpiexec: --with-ft
// timeout: 120
// Collectives with a lost member end at all that live, in their blocking, nonblocking and persistent forms and among neighbours; those without it
// work.
//
// ft_coll [MOMENT]: `within`: the rank is lost while the others are in these calls; else they come to them later.
#include "ft.h"

enum { MANY = 4, LONG = 40000 };

static int from[MANY * LONG], into[MANY * LONG], counts[MANY], places[MANY], ones[MANY];
static MPI_Datatype types[MANY];

static void blocking(MPI_Comm comm, int n)
{
    MAY(MPI_Bcast(into, n, MPI_INT, 0, comm));
    MAY(MPI_Gather(from, n, MPI_INT, into, n, MPI_INT, 0, comm));
    MAY(MPI_Gatherv(from, n, MPI_INT, into, counts, places, MPI_INT, 1, comm));
    MAY(MPI_Scatter(from, n, MPI_INT, into, n, MPI_INT, 0, comm));
    MAY(MPI_Scatterv(from, counts, places, MPI_INT, into, n, MPI_INT, 1, comm));
    MAY(MPI_Allgather(from, n, MPI_INT, into, n, MPI_INT, comm));
    MAY(MPI_Allgatherv(from, n, MPI_INT, into, counts, places, MPI_INT, comm));
    MAY(MPI_Alltoall(from, n, MPI_INT, into, n, MPI_INT, comm));
    MAY(MPI_Alltoallv(from, counts, places, MPI_INT, into, counts, places, MPI_INT, comm));
    MAY(MPI_Alltoallw(from, counts, places, types, into, counts, places, types, comm));
    MAY(MPI_Reduce(from, into, n, MPI_INT, MPI_SUM, 0, comm));
    MAY(MPI_Allreduce(from, into, n, MPI_INT, MPI_SUM, comm));
    MAY(MPI_Reduce_scatter(from, into, counts, MPI_INT, MPI_SUM, comm));
    MAY(MPI_Reduce_scatter_block(from, into, n, MPI_INT, MPI_SUM, comm));
    MAY(MPI_Scan(from, into, n, MPI_INT, MPI_SUM, comm));
    MAY(MPI_Exscan(from, into, n, MPI_INT, MPI_SUM, comm));
    MAY(MPI_Barrier(comm));
}

/* All that wait for every member miss the lost one. */
static void of_all(MPI_Comm comm, int n)
{
    NEEDS(MPI_Allreduce(from, into, n, MPI_INT, MPI_SUM, comm));
    NEEDS(MPI_Allgather(from, n, MPI_INT, into, n, MPI_INT, comm));
    NEEDS(MPI_Alltoall(from, n, MPI_INT, into, n, MPI_INT, comm));
    NEEDS(MPI_Barrier(comm));
}

#define ENDS(start) \
    do { \
        MPI_Request request = MPI_REQUEST_NULL; \
        int class_ = TRY(start); \
        CHECK(class_ == MPI_SUCCESS || class_ == MPIX_ERR_PROC_FAILED, "class %d of %s", class_, #start); \
        if (class_ == MPI_SUCCESS) \
            MAY(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
    } while (0)

static void nonblocking(MPI_Comm comm, int n)
{
    ENDS(MPI_Ibarrier(comm, &request));
    ENDS(MPI_Ibcast(into, n, MPI_INT, 0, comm, &request));
    ENDS(MPI_Igather(from, n, MPI_INT, into, n, MPI_INT, 0, comm, &request));
    ENDS(MPI_Iscatter(from, n, MPI_INT, into, n, MPI_INT, 0, comm, &request));
    ENDS(MPI_Iallgather(from, n, MPI_INT, into, n, MPI_INT, comm, &request));
    ENDS(MPI_Ialltoall(from, n, MPI_INT, into, n, MPI_INT, comm, &request));
    ENDS(MPI_Ireduce(from, into, n, MPI_INT, MPI_SUM, 0, comm, &request));
    ENDS(MPI_Iallreduce(from, into, n, MPI_INT, MPI_SUM, comm, &request));
    ENDS(MPI_Ireduce_scatter_block(from, into, n, MPI_INT, MPI_SUM, comm, &request));
    ENDS(MPI_Iscan(from, into, n, MPI_INT, MPI_SUM, comm, &request));
}

/* Rounds of requests that were made while all were there. */
enum { KINDS = 4 };
static void make_persistent(MPI_Comm comm, MPI_Request *requests)
{
    OK(MPI_Allreduce_init(from, into, LONG, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Bcast_init(into, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[2]));
    OK(MPI_Alltoall_init(from, 1, MPI_INT, into, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[3]));
}

static void persistent(MPI_Request *requests)
{
    for (int i = 0; i < KINDS; i++) {
        for (int times = 0; times < 2; times++) {
            int class = TRY(MPI_Start(&requests[i]));
            CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED, "class %d of %d", class, i);
            if (class == MPI_SUCCESS && i == 2)
                MAY(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            else if (class == MPI_SUCCESS)
                NEEDS(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        }
        WORKS(MPI_Request_free(&requests[i]));
    }
}

/* In the ring of four the last one is the neighbour of the first and of the third. */
static void neighbours(MPI_Comm ring, int knows)
{
#define BESIDE(call) \
    do { \
        if (!knows) \
            MAY(call); \
        else if (rank == 1) \
            WORKS(call); \
        else \
            NEEDS(call); \
    } while (0)
    MPI_Request request;
    BESIDE(MPI_Neighbor_allgather(from, 10, MPI_INT, into, 10, MPI_INT, ring));
    BESIDE(MPI_Neighbor_alltoall(from, LONG, MPI_INT, into, LONG, MPI_INT, ring));
    WORKS(MPI_Ineighbor_allgather(from, 1, MPI_INT, into, 1, MPI_INT, ring, &request));
    BESIDE(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void among_the_living(void)
{
    int sum = 0;
    MPI_Request request;
    WORKS(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, living));
    CHECK(sum == (size - 1) * (size - 2) / 2, "%d", sum);
    WORKS(MPI_Ialltoall(from, LONG, MPI_INT, into, LONG, MPI_INT, living, &request));
    WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    WORKS(MPI_Barrier(living));
}

int main(int argc, char **argv)
{
    int is_within = argc > 1 && !strcmp(argv[1], "within"), periodic = 1;
    MPI_Comm dup, ring;
    MPI_Request requests[KINDS];
    begin_ft(&argc, &argv);
    for (int i = 0; i < MANY; i++)
        counts[i] = ones[i] = 1, places[i] = i, types[i] = MPI_INT;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    make_persistent(dup, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim()) {
        if (!is_within)
            die();
        if (fork() == 0) {
            usleep(20000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
    }
    for (int times = 0; is_within && (rank == victim() || times < 20); times++) {
        blocking(MPI_COMM_WORLD, 1);
        nonblocking(dup, LONG);
        neighbours(ring, 0);
    }
    await_loss();
    blocking(MPI_COMM_WORLD, 1);
    nonblocking(dup, LONG);
    if (!is_within) {
        of_all(MPI_COMM_WORLD, 1);
        of_all(MPI_COMM_WORLD, LONG);
        persistent(requests);
        neighbours(ring, 1);
    }
    among_the_living();
    MAY(MPI_Comm_free(&ring));
    MAY(MPI_Comm_disconnect(&dup));
    return finish_ft();
}
