// All ranks but one die at once. The one that is left shrinks, agrees with itself, spawns as many successors as it has lost, and all of them end.
// mpiexec --with-ft, 2 ranks or more; the argument is the rank that is left.
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { printf("rank %d, line %d: %s\n", rank, __LINE__, #what); fflush(stdout); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

int main(int argc, char **argv)
{
    MPI_Comm parent, comm, whole;
    int rank, size, left, flag = 1, sum = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != atoi(argv[1]))
            raise(SIGKILL);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS);
        CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
        while (MPI_Comm_size(comm, &left), left > 1) {
            // The last ones may still have been there.
            MPI_Comm smaller;
            MPI_Barrier(comm);
            CHECK(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
            MPI_Comm_free(&comm);
            comm = smaller;
        }
        CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 1);
        CHECK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, size - 1, MPI_INFO_NULL, 0, comm, &parent, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
    }
    MPI_Intercomm_merge(parent, 0, &whole);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, whole);
    // Processes of two worlds wait for an agreement.
    MPI_Comm_rank(whole, &rank);
    if (rank == 0)
        usleep(300000);
    CHECK(MPIX_Comm_agree(whole, &flag) == MPI_SUCCESS && flag == 1);
    MPI_Comm_size(whole, &left);
    CHECK(sum == left);
    printf("one of %d again\n", sum);
    MPI_Comm_free(&whole);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}
