// A receiver that computes: it has posted its receive, and calls the library again only when the sender is done.
// Usage: computing BYTES FILE
//   FILE   is made by the sender when its message has left
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = malloc(bytes);
    // The kernel gives a connection more room while it is used.
    for (int i = 0; i < 40; i++) MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    memset(buffer, rank ? 0 : 7, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) {
        int gone = 0;
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Isend(buffer, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
        while (!gone) MPI_Test(&request, &gone, MPI_STATUS_IGNORE);
        puts("the message has left");
        fflush(stdout);
        close(open(argv[2], O_CREAT | O_WRONLY, 0600));
    } else {
        MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        while (access(argv[2], F_OK)) usleep(1000);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes; i++) {
            if (buffer[i] != 7) {
                printf("byte %d is wrong\n", i);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
    MPI_Finalize();
    return 0;
}
