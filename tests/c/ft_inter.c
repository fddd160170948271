// ranks: 4
// mpiexec: --with-ft
// timeout: 120
// Intercommunicators that lose a rank: failures are told of both groups, agreement gives each side what the other one has said, shrinking leaves
// the living of both, and revocation reaches both.
#include "ft.h"

static int group_size(MPI_Group group)
{
    int n = -1;
    MPI_Group_size(group, &n);
    MPI_Group_free(&group);
    return n;
}

static void errors(MPI_Comm inter)
{
    int x = rank, y = -1, sum = 0;
    int of_victim = rank % 2 == victim() % 2, place = victim() / 2;
    MPI_Group failed;
    WORKS(MPI_Comm_get_failed(inter, &failed));
    CHECK(group_size(failed) == 1, "a failed member is told at both sides");
    if (!of_victim) {
        NEEDS(MPI_Send(&x, 1, MPI_INT, place, 1, inter));
        NEEDS(MPI_Recv(&y, 1, MPI_INT, place, 1, inter, MPI_STATUS_IGNORE));
        NEEDS(MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, MPI_STATUS_IGNORE));
    }
    /* Among the living it works on. */
    if (rank == 0)
        WORKS(MPI_Send(&x, 1, MPI_INT, 0, 2, inter));
    if (rank == 1) {
        WORKS(MPI_Recv(&y, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE));
        CHECK(y == 0, "%d", y);
    }
    MAY(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, inter));
    MAY(MPI_Barrier(inter));
}

static void agrees(MPI_Comm inter, int is_acknowledged)
{
    int flag = rank % 2 ? 5 : rank == 0 ? 14 : 7, wanted = rank % 2 ? 6 : 5;
    MPI_Request request;
    if (is_acknowledged)
        WORKS(MPIX_Comm_agree(inter, &flag));
    else
        NEEDS(MPIX_Comm_agree(inter, &flag));
    CHECK(flag == wanted, "%d", flag);
    flag = rank % 2 ? 5 : 15;
    WORKS(MPIX_Comm_iagree(inter, &flag, &request));
    if (is_acknowledged)
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    else
        NEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(flag == (rank % 2 ? 15 : 5), "%d", flag);
}

static void shrinks(MPI_Comm inter)
{
    MPI_Comm small, merged;
    MPI_Request request;
    int local = 0, remote = 0, x = rank, y = -1;
    WORKS(MPIX_Comm_shrink(inter, &small));
    MPI_Comm_set_errhandler(small, MPI_ERRORS_RETURN);
    MPI_Comm_size(small, &local);
    MPI_Comm_remote_size(small, &remote);
    CHECK(local == (rank % 2 ? 1 : 2) && remote == (rank % 2 ? 2 : 1), "%d and %d", local, remote);
    WORKS(MPI_Barrier(small));
    if (rank == 1)
        WORKS(MPI_Send(&x, 1, MPI_INT, 1, 3, small));
    if (rank == 2) {
        WORKS(MPI_Recv(&y, 1, MPI_INT, 0, 3, small, MPI_STATUS_IGNORE));
        CHECK(y == 1, "%d", y);
    }
    WORKS(MPI_Intercomm_merge(small, rank % 2, &merged));
    WORKS(MPI_Barrier(merged));
    WORKS(MPI_Comm_free(&merged));
    WORKS(MPI_Comm_free(&small));
    WORKS(MPIX_Comm_ishrink(inter, &small, &request));
    WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    WORKS(MPI_Barrier(small));
    WORKS(MPI_Comm_disconnect(&small));
}

static void revokes(MPI_Comm inter)
{
    int flag = 0, y;
    MPI_Request request;
    WORKS(MPI_Irecv(&y, 1, MPI_INT, 0, 4, inter, &request));
    MPI_Barrier(living);
    if (rank == 1)
        WORKS(MPI_Comm_revoke(inter));
    int class = TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(class == MPIX_ERR_REVOKED, "class %d", class);
    WORKS(MPIX_Comm_is_revoked(inter, &flag));
    CHECK(flag, "rank %d has not heard", rank);
    class = TRY(MPI_Barrier(inter));
    CHECK(class == MPIX_ERR_REVOKED, "class %d", class);
    agrees(inter, 1);
    shrinks(inter);
}

int main(int argc, char **argv)
{
    MPI_Comm side, inter;
    int acked = 0;
    begin_ft(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(side, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim())
        die();
    await_loss();
    errors(inter);
    agrees(inter, 0);
    WORKS(MPI_Comm_ack_failed(inter, 1, &acked));
    CHECK(acked == 1, "%d", acked);
    agrees(inter, 1);
    shrinks(inter);
    revokes(inter);
    MAY(MPI_Comm_free(&inter));
    MAY(MPI_Comm_free(&side));
    return finish_ft();
}
