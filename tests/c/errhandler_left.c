// ranks: 2 3 8
// nodes: 1
// timeout: 30
// Ranks whose collective fails because another one is in MPI_Finalize may come there too: that one waits for them, and nobody hangs.
#include "check.h"

int main(int argc, char **argv)
{
    int x = 1, y, length;
    char text[MPI_MAX_ERROR_STRING];
    begin(&argc, &argv);
    if (rank != 1) {
        FAILS(MPI_ERR_OTHER, MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Error_string(MPI_ERR_OTHER, text, &length));
        CHECK(strstr(text, "rank 1 is in MPI_Finalize"), "%s", text);
        /* And once more, by another operation. */
        FAILS(MPI_ERR_OTHER, MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    return finish();
}
