// A rank aborts MPI_COMM_SELF: it ends alone, as one that is lost, and the others go on without it.
// mpiexec --with-ft, 2 ranks or more; the last one ends.
#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, class, sum = -1;
    MPI_Comm living;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    // The low 8 bits of this code are 0, and the rank has failed all the same.
    if (rank == size - 1)
        MPI_Abort(MPI_COMM_SELF, 256);
    MPI_Error_class(MPI_Barrier(MPI_COMM_WORLD), &class);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &living);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, living);
    if (class == MPIX_ERR_PROC_FAILED && sum == (size - 1) * (size - 2) / 2)
        printf("rank %d has survived\n", rank);
    MPI_Finalize();
    return 0;
}
