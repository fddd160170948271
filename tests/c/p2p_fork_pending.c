// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=always
// A message waits at its sender, in memory that is shared in place, for its receive. The sender forks, and then asks about
// other memory, for a collective: what the message is read from is not given back before it has been read.
#include "fork.h"

enum { COUNT = 200000, ROUNDS = 5 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    long *data = malloc(COUNT * sizeof *data), *in = malloc(COUNT * sizeof *in), *out = malloc(COUNT * sizeof *out);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request pending = MPI_REQUEST_NULL;
        for (int i = 0; i < COUNT; i++) {
            data[i] = rank == 0 ? round + i : -1;
            in[i] = 1;
        }
        for (int i = 0; i < 3; i++)
            OK(MPI_Allreduce(in, out, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        if (rank == 0) {
            OK(MPI_Isend(data, COUNT, MPI_LONG, 1, 1, MPI_COMM_WORLD, &pending));
            go_apart();
        }
        OK(MPI_Allreduce(in, out, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        if (rank == 1) {
            int wrong = 0;
            OK(MPI_Recv(data, COUNT, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            for (int i = 0; i < COUNT; i++)
                wrong += data[i] != round + i;
            CHECK(wrong == 0, "round %d: %d of %d, the first is %ld", round, wrong, COUNT, data[0]);
        }
        OK(MPI_Wait(&pending, MPI_STATUS_IGNORE));
    }
    free(out);
    free(in);
    free(data);
    return finish();
}
