// ranks: 2 3
// mpiexec: -x TERN_EXPLAIN=used -x TERN_COSTS=default
// expect-output: ^ *< 128 KiB  *[1-9][0-9]* x  .*, since
// TERN_EXPLAIN=used tells at the end which ways messages and collectives have taken, how often and why; the program runs as ever.
#include "check.h"

static char buffer[65536];

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(buffer, rank == 0 ? 7 : 0, sizeof buffer);
    for (int round = 0; round < 5; round++)
        OK(MPI_Bcast(buffer, sizeof buffer, MPI_CHAR, 0, MPI_COMM_WORLD));
    CHECK(buffer[0] == 7 && buffer[sizeof buffer - 1] == 7, "%d", buffer[0]);
    if (rank == 0) {
        OK(MPI_Send(buffer, 300, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
        OK(MPI_Send(buffer, sizeof buffer, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
    } else if (rank == 1) {
        memset(buffer, 0, sizeof buffer);
        OK(MPI_Recv(buffer, 300, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(buffer, sizeof buffer, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(buffer[sizeof buffer - 1] == 7, "%d", buffer[sizeof buffer - 1]);
    }
    return finish();
}
