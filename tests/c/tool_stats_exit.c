// ranks: 1 3
// mpiexec: -x TERN_STATS=1
// expect-exit: 3
// A rank that ends without MPI_Finalize ends the job, and nobody waits for its counters.
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        exit(3);
    return finish();
}
