// ranks: 2
// mpiexec: -x TERN_STATS=1
// expect-output: ^received_bytes \[bytes\]  *80  *0  *80$
// What was counted is printed at the end, by rank 0 for all.
#include "check.h"

int main(int argc, char **argv)
{
    char data[8] = "";
    begin(&argc, &argv);
    for (int i = 0; i < 10; i++)
        if (rank == 0)
            OK(MPI_Send(data, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(data, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return finish();
}
