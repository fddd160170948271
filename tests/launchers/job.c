// Started by launchers that are not Tern's. Each rank writes a line that tells its place and a sum over all; then it
// does what the first argument says:
//   abort   rank 1 calls MPI_Abort with code 7, while the others wait for it
//   kill    rank 1 is killed
//   exit    rank 1 exits with code 5 without MPI_Finalize
//   code    all exit with code 3, after MPI_Finalize
//   lose    rank 1 is killed, and the others go on without MPI
//   wait    rank 0 computes for ever, and the others wait for it
// A file named by the second argument gets the number of each process.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, sum, found, *universe, *appnum;
    const char *act = argc > 1 ? argv[1] : "";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &found);
    if (!found || *universe < size)
        MPI_Abort(MPI_COMM_WORLD, 90);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &found);
    if (!found || *appnum != 0)
        MPI_Abort(MPI_COMM_WORLD, 91);
    printf("rank %d of %d sum %d\n", rank, size, sum);
    fflush(stdout);
    if (argc > 2) {
        FILE *file = fopen(argv[2], "a");
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 1 && !strcmp(act, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && !strcmp(act, "kill"))
        raise(SIGKILL);
    if (!strcmp(act, "lose")) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            raise(SIGKILL);
        // Keepers end those that are not to go on.
        sleep(2);
        printf("rank %d goes on\n", rank);
        fflush(stdout);
        _exit(0);
    }
    if (rank == 1 && !strcmp(act, "exit"))
        _exit(5);
    while (rank == 0 && !strcmp(act, "wait"))
        pause();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return strcmp(act, "code") ? 0 : 3;
}
