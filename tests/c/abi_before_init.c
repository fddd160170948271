// ranks: 1
// expect-exit: nonzero
// expect-output: MPI_Comm_rank.*MPI is not initialized
// A call before MPI_Init is an error that ends the program and says why.
#include <mpi.h>

int main(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 0;
}
