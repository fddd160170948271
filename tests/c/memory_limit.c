// ranks: 2
// A call that needs more memory than the process may have fails with MPI_ERR_NO_MEM and changes nothing: the next ones go well.
#define _GNU_SOURCE
#include "limit.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    enum { LONG = 200 << 20, SHORT = 100000 };
    char *message = calloc(1, LONG), *attached = malloc(1 << 20);
    int *in = calloc(SHORT, sizeof *in), *out = calloc(SHORT, sizeof *out), other = rank ^ 1;
    for (int turn = 0; turn < 20; turn++)
        MPI_Sendrecv(in, SHORT, MPI_INT, other, 0, out, SHORT, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_attach(attached, 1 << 20);
    MPI_Request request;
    struct rlimit before = limit_to(24 << 20);
    FAILS(MPI_ERR_NO_MEM, MPI_Sendrecv_replace(message, LONG, MPI_BYTE, other, 1, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_NO_MEM, MPI_Isendrecv_replace(message, LONG, MPI_BYTE, other, 1, other, 1, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_NO_MEM, MPI_Bsend(message, LONG, MPI_BYTE, other, 1, MPI_COMM_WORLD));
    for (int turn = 0; turn < 300; turn++) {
        in[turn] = rank + turn;
        OK(MPI_Sendrecv(in, SHORT, MPI_INT, other, 0, out, SHORT, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(out[turn] == other + turn);
        OK(MPI_Allreduce(in, out, SHORT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(out[turn] == 1 + 2 * turn);
    }
    lift(before);
    int size;
    char *detached;
    MPI_Buffer_detach(&detached, &size);
    return finish();
}
