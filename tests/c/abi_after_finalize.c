// ranks: 1
// expect-exit: nonzero
// expect-output: MPI_Barrier.*already finalized
// A call after MPI_Finalize is an error that ends the program and says why.
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
