// ranks: 2 4
// mpiexec: --with-ft
// timeout: 120
// A lost rank is told by the error handler of the communicator on which it is missed, with that communicator and the right class; handlers of others
// are not called.
#include "ft.h"

static MPI_Comm seen = MPI_COMM_NULL;
static int code_seen, calls, calls_of_world;

static void note(MPI_Comm *comm, int *code, ...)
{
    seen = *comm;
    code_seen = *code;
    calls++;
}

static void note_world(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    calls_of_world++;
}

/* The handler is called once, with `comm` and what the call returns. */
#define TOLD(comm, wanted, call) TOLD_OTHER(comm, wanted, wanted, call)

/* The same, where the handler gets another class than the call returns: that of the request that has failed. */
#define TOLD_OTHER(comm, given, wanted, call) \
    do { \
        calls = 0; \
        tried = #call; \
        alarm(LIMIT); \
        int code_ = (call); \
        alarm(0); \
        CHECK(calls == 1 && seen == (comm), "%d calls of %s", calls, #call); \
        CHECK(class_of(code_) == (wanted) && class_of(code_seen) == (given), "class %d of %s", class_of(code_seen), #call); \
    } while (0)

static void on(MPI_Comm comm)
{
    int x = rank, y, flag = 1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    TOLD(comm, MPIX_ERR_PROC_FAILED, MPI_Recv(&y, 1, MPI_INT, victim(), 1, comm, MPI_STATUS_IGNORE));
    TOLD(comm, MPIX_ERR_PROC_FAILED, MPI_Ssend(&x, 1, MPI_INT, victim(), 1, comm));
    TOLD(comm, MPIX_ERR_PROC_FAILED, MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, comm));
    TOLD(comm, MPIX_ERR_PROC_FAILED, MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE));
    MPI_Irecv(&y, 1, MPI_INT, victim(), 1, comm, &requests[0]);
    TOLD(comm, MPIX_ERR_PROC_FAILED, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &requests[0]);
    TOLD(comm, MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Irecv(&y, 1, MPI_INT, victim(), 1, comm, &requests[0]);
    MPI_Irecv(&y, 1, MPI_INT, victim(), 2, comm, &requests[1]);
    TOLD_OTHER(comm, MPIX_ERR_PROC_FAILED, MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, statuses));
    TOLD(comm, MPIX_ERR_PROC_FAILED, MPIX_Comm_agree(comm, &flag));
    MPI_Comm made;
    TOLD(comm, MPIX_ERR_PROC_FAILED, MPI_Comm_dup(comm, &made));
}

static void revoked(MPI_Comm comm)
{
    int x = rank, y;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Errhandler handler;
    MPI_Comm_revoke(comm);
    TOLD(comm, MPIX_ERR_REVOKED, MPI_Barrier(comm));
    TOLD(comm, MPIX_ERR_REVOKED, MPI_Send(&x, 1, MPI_INT, rank, 1, comm));
    TOLD(comm, MPIX_ERR_REVOKED, MPI_Recv(&y, 1, MPI_INT, rank, 1, comm, MPI_STATUS_IGNORE));
    /* What is made of it has its handler. */
    calls = 0;
    WORKS(MPIX_Comm_shrink(comm, &made));
    CHECK(calls == 0, "%d", calls);
    TOLD(made, MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 1, made));
    OK(MPI_Comm_get_errhandler(made, &handler));
    OK(MPI_Errhandler_free(&handler));
    WORKS(MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler, of_world;
    MPI_Comm comm, left, kept;
    begin_ft(&argc, &argv);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_create_errhandler(note_world, &of_world);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_dup(comm, &left);
    MPI_Comm_set_errhandler(left, handler);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim())
        die();
    await_loss();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
    on(comm);
    /* The communicator has its handler as long as the call tells of the loss, and is gone then. */
    kept = left;
    TOLD(kept, MPIX_ERR_PROC_FAILED, MPI_Comm_disconnect(&left));
    CHECK(left == MPI_COMM_NULL, "the communicator is still there");
    MPI_Barrier(living);
    revoked(comm);
    CHECK(calls_of_world == 0, "%d", calls_of_world);
    MPI_Recv(&calls, 1, MPI_INT, victim(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(calls_of_world == 1, "%d", calls_of_world);
    MAY(MPI_Comm_free(&comm));
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&of_world);
    return finish_ft();
}
