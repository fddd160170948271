// ranks: 2 3
// nodes: 1
// mpiexec: -x TERN_EXPLAIN=used -x TERN_COSTS=default
// expect-output: ^ *< 16 B  *3 x  .*, since .*)$
// TERN_EXPLAIN=used tells at the end how one-sided accesses were made, how often and why; their outcome is as ever.
#include "check.h"

static char buffer[4096];

static void access_all(MPI_Win win)
{
    static double sums[4] = {1, 2, 3, 4};
    OK(MPI_Win_fence(0, win));
    if (rank == 0) {
        for (int round = 0; round < 3; round++)
            OK(MPI_Put(buffer, 8, MPI_CHAR, 1, 0, 8, MPI_CHAR, win));
        OK(MPI_Put(buffer, sizeof buffer, MPI_CHAR, 1, 64, sizeof buffer, MPI_CHAR, win));
    }
    OK(MPI_Win_fence(0, win));
    if (rank == 1) {
        char got[sizeof buffer];
        OK(MPI_Get(got, sizeof got, MPI_CHAR, 1, 64, sizeof got, MPI_CHAR, win));
        OK(MPI_Win_fence(0, win));
        CHECK(got[0] == 7 && got[sizeof got - 1] == 7, "%d", got[0]);
        OK(MPI_Accumulate(sums, 4, MPI_DOUBLE, 0, 0, 4, MPI_DOUBLE, MPI_SUM, win));
    } else {
        OK(MPI_Win_fence(0, win));
    }
    OK(MPI_Win_fence(0, win));
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(buffer, 7, sizeof buffer);
    double *shared = NULL;
    MPI_Win win;
    OK(MPI_Win_allocate(8192, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win));
    memset(shared, 0, 8192);
    MPI_Barrier(MPI_COMM_WORLD);
    access_all(win);
    if (rank == 0)
        CHECK(shared[0] == 1 && shared[3] == 4, "%g %g", shared[0], shared[3]);
    OK(MPI_Win_free(&win));
    return finish();
}
