/* The C part of tool.f90: a tool that counts calls of MPI_Send and MPI_Comm_rank by C's names. */
#include <mpi.h>

static int sends, ranks;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    ranks++;
    return PMPI_Comm_rank(comm, rank);
}

void counted_(int *s, int *r)
{
    *s = sends;
    *r = ranks;
}
