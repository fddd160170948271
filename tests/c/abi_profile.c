// ranks: 2
// A tool may define MPI_ functions of its own over PMPI_: the library calls neither by itself.
#include "check.h"

static int sends, barriers;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int x = rank, y = -1;
    if (rank == 0) OK(MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    else OK(MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(&x, 1, MPI_INT, 1 - rank, 1, &y, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(sends == (rank == 0), "%d sends", sends);
    MPI_Finalize();
    CHECK(barriers == 1, "%d barriers", barriers);
    return failures ? 1 : 0;
}
