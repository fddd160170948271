// ranks: 2
// mpiexec: -env TERN_CHECK 1
// A program that is checked is told where it breaks what its communicators assert (MPI 5.0 section 7.4.4).
#include "check.h"

enum { MANY = 100 };
static int one, many[MANY];

static MPI_Comm with(const char *key)
{
    MPI_Info info;
    MPI_Comm comm;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, "true"));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    return comm;
}

/* Every call that may name a wildcard, with one that the communicator says it does not use. */
static void wildcards(const char *key, int source, int tag, int class)
{
    MPI_Comm comm = with(key);
    MPI_Request request = MPI_REQUEST_NULL, exchange;
    MPI_Message message;
    int flag;
    FAILS(class, MPI_Recv(&one, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE));
    FAILS(class, MPI_Irecv(&one, 1, MPI_INT, source, tag, comm, &request));
    CHECK(request == MPI_REQUEST_NULL);
    FAILS(class, MPI_Probe(source, tag, comm, MPI_STATUS_IGNORE));
    FAILS(class, MPI_Iprobe(source, tag, comm, &flag, MPI_STATUS_IGNORE));
    FAILS(class, MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE));
    FAILS(class, MPI_Improbe(source, tag, comm, &flag, &message, MPI_STATUS_IGNORE));
    FAILS(class, MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, &one, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE));
    OK(MPI_Recv_init(&one, 1, MPI_INT, source, tag, comm, &request));
    FAILS(class, MPI_Start(&request));
    OK(MPI_Request_free(&request));
    /* What is named is received, and the other wildcard is nobody's concern. */
    int peer = 1 - rank;
    OK(MPI_Irecv(&one, 1, MPI_INT, source == MPI_ANY_SOURCE ? peer : MPI_ANY_SOURCE, tag == MPI_ANY_TAG ? 7 : MPI_ANY_TAG, comm, &exchange));
    OK(MPI_Send(&rank, 1, MPI_INT, peer, 7, comm));
    OK(MPI_Wait(&exchange, MPI_STATUS_IGNORE));
    CHECK(one == peer, "%d", one);
    OK(MPI_Recv(&one, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
}

static void lengths(void)
{
    MPI_Comm comm = with("mpi_assert_exact_length");
    MPI_Request request;
    if (rank == 0) {
        OK(MPI_Send(many, 2, MPI_INT, 1, 1, comm));
        OK(MPI_Send(many, 2, MPI_INT, 1, 1, comm));
        OK(MPI_Send(many, 2, MPI_INT, 1, 1, comm));
        OK(MPI_Send(many, 2, MPI_INT, 1, 1, comm));
    } else {
        FAILS(MPI_ERR_COUNT, MPI_Recv(many, 4, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        OK(MPI_Irecv(many, 4, MPI_INT, 0, 1, comm, &request));
        FAILS(MPI_ERR_COUNT, MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Recv(many, 2, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_TRUNCATE, MPI_Recv(many, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_free(&comm));
}

/* Messages that a receive has room for by their order alone, and receives that have room for their message by theirs alone. */
static void order(void)
{
    MPI_Comm comm = with("mpi_assert_allow_overtaking");
    MPI_Request requests[2];
    if (rank == 0) {
        OK(MPI_Isend(&rank, 1, MPI_INT, 1, 1, comm, &requests[0]));
        OK(MPI_Isend(many, MANY, MPI_INT, 1, 1, comm, &requests[1]));
        OK(MPI_Send(&rank, 1, MPI_INT, 1, 2, comm));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Send(many, MANY, MPI_INT, 1, 3, comm));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Send(&rank, 1, MPI_INT, 1, 3, comm));
    } else {
        OK(MPI_Recv(&one, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_TRUNCATE, MPI_Recv(&one, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        OK(MPI_Recv(many, MANY, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        OK(MPI_Recv(many, MANY, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        OK(MPI_Irecv(many, MANY, MPI_INT, 0, 3, comm, &requests[0]));
        OK(MPI_Irecv(&one, 1, MPI_INT, 0, 3, comm, &requests[1]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    wildcards("mpi_assert_no_any_source", MPI_ANY_SOURCE, 1, MPI_ERR_RANK);
    wildcards("mpi_assert_no_any_tag", 1 - rank, MPI_ANY_TAG, MPI_ERR_TAG);
    lengths();
    order();
    return finish();
}
