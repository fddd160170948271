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
    // Receives that cannot be published: by a wildcard, and behind that one.
    MPI_Request requests[2];
    if (rank == 1) {
        OK(MPI_Irecv(buffer, 20000, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(buffer + 20000, 20000, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &requests[1]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        OK(MPI_Send(buffer, 20000, MPI_CHAR, 1, 2, MPI_COMM_WORLD));
        OK(MPI_Send(buffer, 20000, MPI_CHAR, 1, 3, MPI_COMM_WORLD));
    } else if (rank == 1) {
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    return finish();
}
