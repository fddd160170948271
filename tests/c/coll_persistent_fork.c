// ranks: 2 3 4
// mpiexec: -x TERN_PROMOTE=always
// A process forks between the start of a persistent collective and its end, and then sends and receives, so that memory which was
// shared in place is not any more: the others get what it gives all the same.
#include "fork.h"

enum { COUNT = 60000, ROUNDS = 12 };

static long *in, *out, *other;

/* Other memory is used for messages, and comes to be shared in place. */
static void message(void)
{
    if (rank == 0)
        OK(MPI_Send(other, COUNT, MPI_LONG, 1, 1, MPI_COMM_WORLD));
    else if (rank == 1)
        OK(MPI_Recv(other, COUNT, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void rounds(MPI_Request *request, const char *what, long (*expected)(int round, int at))
{
    for (int round = 0; round < ROUNDS; round++) {
        int wrong = 0;
        for (int i = 0; i < COUNT; i++) {
            in[i] = round + rank * 7 + i % 13;
            out[i] = -1;
        }
        OK(MPI_Start(request));
        if (rank == round % size)
            go_apart();
        message();
        OK(MPI_Wait(request, MPI_STATUS_IGNORE));
        for (int i = 0; i < COUNT; i++)
            wrong += out[i] != expected(round, i);
        CHECK(wrong == 0, "%s, round %d: %d of %d", what, round, wrong, COUNT);
    }
    OK(MPI_Request_free(request));
}

static long sum(int round, int at)
{
    long all = 0;
    for (int i = 0; i < size; i++)
        all += round + i * 7 + at % 13;
    return all;
}

/* Each has given the same number of elements to each. */
static long exchanged(int round, int at)
{
    int block = COUNT / size;
    return at < block * size ? round + at / block * 7 + (rank * block + at % block) % 13 : -1;
}

int main(int argc, char **argv)
{
    MPI_Request request;
    begin(&argc, &argv);
    in = malloc(COUNT * sizeof *in);
    out = malloc(COUNT * sizeof *out);
    other = malloc(COUNT * sizeof *other);
    memset(other, 0, COUNT * sizeof *other);
    OK(MPI_Allreduce_init(in, out, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    rounds(&request, "reduction", sum);
    OK(MPI_Alltoall_init(in, COUNT / size, MPI_LONG, out, COUNT / size, MPI_LONG, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    rounds(&request, "exchange", exchanged);
    free(other);
    free(out);
    free(in);
    return finish();
}
