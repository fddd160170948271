// ranks: 1
// expect-exit: nonzero
// expect-output: MPI_Cancel.*only a send, a receive and a generalized request
// A send and a receive in one request cannot be cancelled, and the error says what can be.
#include <mpi.h>

int main(int argc, char **argv)
{
    int out = 3, in = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Isendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Finalize();
    return 0;
}
