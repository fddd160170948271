// cost N: microseconds of N ping-pongs of 8 B (half a round trip), of 64 KiB (N / 16 of them), and of N allreduces of 8 B.
// cost N send8 | send64k | reduce8: that alone, untimed. Alone in its world, a process sends to itself: Irecv, Send, Wait.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[65536], in[65536];
static int rank, size;

static void step(int bytes)
{
    if (size == 1) {
        MPI_Request request;
        MPI_Irecv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        MPI_Send(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static double many(int what, int n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        if (what == 8 || what == 65536)
            step(what);
        else
            MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / n * 1e6;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = atoi(argv[1]);
    if (argc > 2) {
        many(!strcmp(argv[2], "send8") ? 8 : !strcmp(argv[2], "send64k") ? 65536 : 0, n);
    } else {
        many(8, n / 4), many(65536, n / 64), many(0, n / 4);
        double small = many(8, n) / 2, large = many(65536, n / 16) / 2, reduce = many(0, n);
        if (rank == 0)
            printf("cost %.4f %.4f %.4f\n", small, large, reduce);
    }
    return MPI_Finalize();
}
