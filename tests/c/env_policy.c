// ranks: 2 3
// mpiexec: -x TERN_EXPLAIN=1 -x TERN_COSTS=default -x TERN_POLICY=-all
// expect-output: ^copies  *off 
// With all rules of the policy off, and in all lengths, messages and collectives arrive as ever.
#include "check.h"

enum { MOST = 1 << 20, TIMES = 24 };

static unsigned char out[MOST], in[MOST];

/* Both neighbours on a ring get a message of `len` bytes, by blocking and by nonblocking calls. */
static void exchange(int len, int time)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request requests[2];
    memset(out, rank + time, len);
    OK(MPI_Sendrecv(out, len, MPI_BYTE, next, 1, in, len, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in[0] == (unsigned char)(last + time) && in[len - 1] == in[0], "%d bytes: %d", len, in[0]);
    memset(in, 0, len);
    OK(MPI_Irecv(in, len, MPI_BYTE, last, 2, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(out, len, MPI_BYTE, next, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == (unsigned char)(last + time) && in[len - 1] == in[0], "%d bytes: %d", len, in[0]);
}

/* Rank 0 sends, rank 1 answers. */
static void answer(int len, int time)
{
    if (rank > 1)
        return;
    memset(out, 7 + time, len);
    if (rank == 0)
        OK(MPI_Send(out, len, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
    OK(MPI_Recv(in, len, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in[len - 1] == (unsigned char)(7 + time), "%d bytes: %d", len, in[len - 1]);
    if (rank == 1)
        OK(MPI_Send(out, len, MPI_BYTE, 0, 3, MPI_COMM_WORLD));
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static const int lens[] = {8, 1000, 8 << 10, 16 << 10, 40000, 64 << 10, 200000, MOST};
    for (int at = 0; at < 8; at++)
        for (int time = 0; time < TIMES; time++) {
            exchange(lens[at], time);
            answer(lens[at], time);
            int sum = 0;
            OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            CHECK(sum == size * (size - 1) / 2, "%d", sum);
        }
    return finish();
}
