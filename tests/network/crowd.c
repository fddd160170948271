// The last rank waits for a message from anybody of more ranks than it would call at once. Rank 1 sends it one, and cannot call it.
// The other ranks have come to the end. Usage: crowd WAY, which is "call", or "look" for a receiver that sleeps in no call.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0, flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 1) {
        value = 7;
        MPI_Send(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    } else if (rank == size - 1) {
        while (argc > 1 && strcmp(argv[1], "look") == 0 && !flag)
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("the last of %d ranks: got %d\n", size, value);
        fflush(stdout);
    }
    return MPI_Finalize();
}
