// An error under MPI_ERRORS_ARE_FATAL ends the job and says where, what, and what to try.
// ranks: 1 2 4
// expect-exit: nonzero
// expect-output: MPI_Send failed in rank 0 of half of the world .*MPI_COMM_WORLD.*dest is 99
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, x = 1;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_set_name(half, "half of the world");
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 99, 0, half);
    /* The others wait for ever: the failing rank must end them too. */
    for (;;)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, half, MPI_STATUS_IGNORE);
}
