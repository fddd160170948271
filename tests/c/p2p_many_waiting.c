// ranks: 2
// timeout: 120
// Long messages from more buffers than a process can have declared to the kernel module at a time wait at their sender together. Each
// comes whole, and with the module the next message goes by it again.
#include "counter.h"

enum { BUFFERS = 80, LEN = 256 << 10 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *mechanism = getenv("TERN_MECHANISM");
    int module = mechanism != NULL && strcmp(mechanism, "module") == 0, wrong = 0;
    MPI_T_pvar_handle moved = counter_of("module_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    char *all = malloc((size_t)BUFFERS * 2 * LEN), *in = malloc(LEN);
    MPI_Request requests[BUFFERS];
    for (int round = 0; round < 2; round++) {
        int sender = round;
        for (int i = 0; i < BUFFERS && rank == sender; i++) {
            memset(all + (size_t)i * 2 * LEN, i + round, LEN);
            OK(MPI_Isend(all + (size_t)i * 2 * LEN, LEN, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[i]));
        }
        /* All are there before the first is received. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < BUFFERS && rank != sender; i++) {
            OK(MPI_Recv(in, LEN, MPI_BYTE, sender, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            for (int at = 0; at < LEN; at++) wrong += in[at] != (char)(i + round);
        }
        if (rank == sender) OK(MPI_Waitall(BUFFERS, requests, MPI_STATUSES_IGNORE));
    }
    CHECK(wrong == 0, "%d bytes are wrong", wrong);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    number before = counted(moved);
    if (rank == 0) OK(MPI_Ssend(all, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    else OK(MPI_Recv(in, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    number by = counted(moved) - before, both = 0;
    OK(MPI_Allreduce(&by, &both, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(!module || both == LEN, "the module has copied %llu bytes of the last message", both);
    end_counting();
    free(all);
    free(in);
    return finish();
}
