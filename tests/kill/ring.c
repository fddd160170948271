/* Sends numbers and long messages around, and says what came: for runs under tight limits. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { LONG = 1 << 20 };
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *out = calloc(1, LONG), *in = calloc(1, LONG);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    out[LONG - 1] = (char)(rank + 1);
    for (int round = 0; round < 10; round++)
        MPI_Sendrecv(out, LONG, MPI_BYTE, right, 0, in, LONG, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int last = in[LONG - 1];
    MPI_Reduce(&last, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
