// A rank is lost, and the others miss it on a communicator whose error handler ends the job.
// mpiexec --with-ft, 3 ranks; the argument is `fatal` for MPI_ERRORS_ARE_FATAL, `abort` for MPI_ERRORS_ABORT.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, x;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, argc > 1 && !strcmp(argv[1], "abort") ? MPI_ERRORS_ABORT : MPI_ERRORS_ARE_FATAL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        raise(SIGKILL);
    // Where errors are returned the program goes on.
    MPI_Recv(&x, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&x, 1, MPI_INT, size - 1, 1, comm, MPI_STATUS_IGNORE);
    printf("rank %d goes on all the same\n", rank);
    MPI_Finalize();
    return 0;
}
