// ranks: 2 4
// nodes: 1
// expect-exit: nonzero
// expect-output: MPI_Barrier failed in rank 0 .*rank [1-3] is in MPI_Finalize
// A collective that the others do not make, because they are in MPI_Finalize, says where they are.
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
