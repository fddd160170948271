/* A program with known numbers of calls, for the tool beside this file. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, value[4] = {0}, sum[4];
    double one = 1, all[64];
    MPI_Comm copy;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "the copy");
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            MPI_Send(value, 4, MPI_INT, 1, 0, copy);
        if (rank == 1) {
            MPI_Irecv_c(value, 4, MPI_INT, 0, 0, copy, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Allreduce(value, sum, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(&one, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, copy);
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
