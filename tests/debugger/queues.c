// Rank 0 has receives posted and messages that no receive has matched, and waits for a message that rank 1 sends when a file is there.
// Argument: a folder, where each rank writes its process.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char late[400], any[1000], grid[64], early[100000], wanted[8];
    char name[1000];
    int rank;
    MPI_Comm work;
    MPI_Datatype gaps;
    MPI_Request requests[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    // Ranks of the communicator are those of the world the other way round.
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &work);
    MPI_Comm_set_name(work, "work");
    MPI_Type_vector(4, 1, 2, MPI_CHAR, &gaps);
    MPI_Type_commit(&gaps);
    if (rank == 0) {
        MPI_Irecv(late, sizeof late, MPI_CHAR, MPI_ANY_SOURCE, 7, work, &requests[0]);
        MPI_Irecv(any, sizeof any, MPI_CHAR, 0, 8, work, &requests[1]);
        MPI_Irecv(grid, 1, gaps, 1, 70, MPI_COMM_WORLD, &requests[2]);
    } else {
        MPI_Send(early, 5, MPI_CHAR, 0, 9, MPI_COMM_WORLD);
        MPI_Isend(early, sizeof early, MPI_CHAR, 1, 10, work, &requests[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int flag;
        do MPI_Iprobe(0, 10, work, &flag, MPI_STATUS_IGNORE); while (!flag);
    }
    snprintf(name, sizeof name, "%s/began.%d", argv[1], rank);
    FILE *began = fopen(name, "w");
    fprintf(began, "%d\n", (int)getpid());
    fclose(began);
    if (rank == 0) {
        MPI_Recv(wanted, sizeof wanted, MPI_CHAR, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(early, sizeof early, MPI_CHAR, 0, 10, work, MPI_STATUS_IGNORE);
        MPI_Recv(wanted, sizeof wanted, MPI_CHAR, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
        snprintf(name, sizeof name, "%s/end", argv[1]);
        while (access(name, F_OK)) usleep(10000);
        MPI_Send(early, 8, MPI_CHAR, 0, 99, MPI_COMM_WORLD);
        MPI_Send(late, 4, MPI_CHAR, 1, 7, work);
        MPI_Send(late, 8, MPI_CHAR, 1, 8, work);
        MPI_Send(late, 4, MPI_CHAR, 0, 70, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&gaps);
    MPI_Comm_free(&work);
    MPI_Finalize();
    return 0;
}
