// ranks: 2 3
// mpiexec: -x TERN_EXPLAIN=1 -x TERN_COSTS=default
// expect-output: ^Costs: figures of another machine$
// TERN_EXPLAIN prints the table of choices and the rules, and the program runs as ever.
#include "check.h"

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2, "%d", sum);
    return finish();
}
