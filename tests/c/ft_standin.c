// ranks: 3 4
// mpiexec: --with-ft
// timeout: 120
// What stands for a communicator that MPIX_Comm_ishrink is making takes part in no agreement. Where nobody is left of the remote group, the request
// fails, and what it was for names nothing.
#include "ft.h"

static void stand_in(void)
{
    int flag = 1, members;
    MPI_Comm made;
    MPI_Request request, other;
    MPI_Comm_size(living, &members);
    /* Nothing is made before rank 0 comes, which has heard from all others. */
    for (int from = 1; rank == 0 && from < members; from++)
        WORKS(MPI_Recv(NULL, 0, MPI_INT, from, 1, living, MPI_STATUS_IGNORE));
    WORKS(MPIX_Comm_ishrink(living, &made, &request));
    if (rank > 0) {
        MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
        CHECK(TRY(MPIX_Comm_iagree(made, &flag, &other)) == MPI_ERR_COMM, "a stand-in agrees");
        CHECK(TRY(MPIX_Comm_shrink(made, &made)) == MPI_ERR_COMM, "a stand-in shrinks");
        WORKS(MPI_Send(NULL, 0, MPI_INT, 0, 1, living));
    }
    WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    WORKS(MPIX_Comm_agree(made, &flag));
    WORKS(MPI_Comm_free(&made));
}

int main(int argc, char **argv)
{
    MPI_Comm own, inter, made, next;
    MPI_Request request;
    int remote;
    begin_ft(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim(), rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, rank == victim() ? 0 : victim(), 3, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim())
        die();
    await_loss();
    WORKS(MPIX_Comm_shrink(inter, &made));
    CHECK(made == MPI_COMM_NULL, "nobody is left of the remote group");
    WORKS(MPIX_Comm_ishrink(inter, &made, &request));
    NEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(TRY(MPI_Comm_remote_size(made, &remote)) == MPI_ERR_COMM, "it names a communicator");
    stand_in();
    WORKS(MPI_Comm_dup(living, &next));
    WORKS(MPI_Comm_free(&next));
    WORKS(MPI_Comm_free(&inter));
    WORKS(MPI_Comm_free(&own));
    return finish_ft();
}
