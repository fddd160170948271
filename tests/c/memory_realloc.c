// ranks: 2
// mpiexec: --nodes 2
// realloc of a large buffer of which a part was sent to another node moves its pages: it copies nothing, whoever is told of what the
// program unmaps. Counted in page faults: a copy of what was never stored to takes one for each page of the new place, 262144 of them. An
// emulator of the processor takes some thousands for its own tables.
#define _GNU_SOURCE
#include "check.h"
#include <sys/resource.h>

enum { PART = 1 << 20, MOST_FAULTS = 20000 };
static const size_t WHOLE = 1ul << 30;

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char *in = malloc(PART);
    for (int turn = 0; turn < 3; turn++) {
        char *out = malloc(WHOLE), *part = out + (size_t)turn * (WHOLE / 4) + 12345;
        memset(part, 5 + turn, PART);
        for (int times = 0; times < 12; times++)
            OK(MPI_Sendrecv(part, PART, MPI_BYTE, rank ^ 1, 0, in, PART, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        size_t offset = (size_t)(part - out);
        long before = faults();
        char *grown = realloc(out, WHOLE + WHOLE / 2);
        long took = faults() - before;
        CHECK(took < MOST_FAULTS, "turn %d: %ld page faults", turn, took);
        CHECK(grown && grown[offset] == 5 + turn && grown[offset + PART - 1] == 5 + turn);
        /* From where it is now. */
        memset(grown + offset, 50 + turn, PART);
        OK(MPI_Sendrecv(grown + offset, PART, MPI_BYTE, rank ^ 1, 0, in, PART, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(in[0] == 50 + turn && in[PART - 1] == 50 + turn);
        free(grown);
    }
    free(in);
    return finish();
}
