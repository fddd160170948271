// ranks: 2
// expect-exit: nonzero
// expect-output: MPI_Put failed in rank 1 of the halo (size 2).*not be negative
// An error on a window that nobody handles ends the job, and the message names the window.
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    int *base, value = 0;
    begin(&argc, &argv);
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "the halo");
    MPI_Win_fence(0, win);
    if (rank == 1)
        MPI_Put(&value, 1, MPI_INT, 0, -4, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
