// One rank computes outside MPI while hundreds of spawned processes are lost, and takes nothing of what the launcher says of them. The launcher
// starts and reaps processes all the same, and keeps its time limit. mpiexec --with-ft, 2 ranks; argument: a file that rank 0 makes at its
// end, for which rank 1 waits; with a second argument it makes none.
#include <mpi.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SPAWNS = 5, CHILDREN = 60 };

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "child") == 0)
        raise(SIGKILL); // before MPI_Init: its whole world is given up
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 1) {
        while (access(argv[1], F_OK) != 0)
            usleep(10000);
    } else {
        char *child[] = {"child", NULL};
        for (int turn = 0; turn < SPAWNS; turn++) {
            MPI_Comm inter;
            int code = MPI_Comm_spawn(argv[0], child, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
            if (code == MPI_SUCCESS)
                printf("children that are dead have been met\n");
        }
        printf("%d processes are lost\n", SPAWNS * CHILDREN);
        fflush(stdout);
        if (argc == 2)
            close(open(argv[1], O_CREAT | O_WRONLY, 0600));
        else
            pause();
    }
    MPI_Finalize();
    printf("rank %d has ended\n", rank);
    return 0;
}
