// A rank comes late to MPI_Finalize, long after another one was lost while the rest waited there: nobody leaves before it, and it ends.
// mpiexec --with-ft, 4 ranks or more; the seconds that the last rank takes are the argument.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        usleep(200000);
        raise(SIGKILL);
    }
    if (rank == size - 1)
        sleep(argc > 1 ? atoi(argv[1]) : 7);
    MPI_Finalize();
    printf("rank %d has ended\n", rank);
    return 0;
}
