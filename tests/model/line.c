/* An allreduce of 8 bytes between two meetings of all ranks (MPI_Pcontrol), many times. With an argument, the first and the last rank exchange a message beside
 * it: a line that both share. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, word = 0, call;
    long one = 1, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (call = 0; call < 70; call++) {
        MPI_Pcontrol(1);
        MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (argc > 1 && rank == 0)
            MPI_Send(&word, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
        if (argc > 1 && rank == size - 1)
            MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Pcontrol(2);
        if (sum != size)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
