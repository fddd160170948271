// A truncated message under MPI_ERRORS_ARE_FATAL ends the job, and says so.
// ranks: 2 4
// expect-exit: nonzero
// expect-output: MPI_ERR_TRUNCATE
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, room, message[100] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Send(message, 100, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&room, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* The others wait for ever. */
    for (;;) MPI_Recv(&room, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
