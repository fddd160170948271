// When two processes both take themselves for the root of a broadcast, one of them is told.
// ranks: 2 4
// nodes: 1
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, value, sum = 0, code, class, told, anybody = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    value = rank;
    code = MPI_Bcast(&value, 1, MPI_INT, rank % 2, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS) {
        /* A root does not wait for anybody: it learns of the other one in the next collective. */
        code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Error_class(code, &class);
    told = class == MPI_ERR_ROOT;
    MPI_Allreduce(&told, &anybody, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!anybody || (code != MPI_SUCCESS && !told)) {
        printf("rank %d: error class %d, anybody told: %d\n", rank, class, anybody);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
