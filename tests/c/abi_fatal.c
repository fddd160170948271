// ranks: 1 2
// expect-exit: nonzero
// expect-output: MPI_Send.*argument dest
// A wrong argument under MPI_ERRORS_ARE_FATAL ends the job and names function and argument.
#include <mpi.h>

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Send(&size, 1, MPI_INT, size + 7, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
