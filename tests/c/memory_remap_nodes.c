// ranks: 2
// mpiexec: --nodes 2
// A mapping of which all or a part was sent to another node stays one mapping: it can be grown as without messages.
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <sys/mman.h>

static void send_some(char *out, size_t n, char *in)
{
    for (int turn = 0; turn < 12; turn++)
        MPI_Sendrecv(out, (int)n, MPI_BYTE, rank ^ 1, 0, in, (int)n, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A part of the mapping is replaced, or unmapped and mapped again, after it was sent; then it is sent again, or not. */
static void replaced(size_t n, int unmapped, int again, char *in)
{
    char *out = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *half = out + n / 2;
    memset(out, 5, n);
    send_some(out, n, in);
    if (unmapped) {
        munmap(half, n / 2);
        if (again)
            send_some(out, n / 2, in);
    }
    CHECK(mmap(half, n / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == half);
    memset(out, 6, n);
    if (again)
        send_some(out, n, in);
    char *grown = mremap(out, n, 2 * n, MREMAP_MAYMOVE);
    CHECK(grown != MAP_FAILED, "of %zu bytes half was replaced (%d, %d): %s", n, unmapped, again, strerror(errno));
    if (grown != MAP_FAILED) {
        CHECK(grown[0] == 6 && grown[n - 1] == 6 && grown[n] == 0);
        munmap(grown, 2 * n);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    size_t lengths[] = {8192, 65536, 1 << 20, 4 << 20};
    char *in = malloc(4 << 20);
    for (int i = 0; i < 4; i++)
        for (int part = 1; part <= 2; part++) {
            size_t n = lengths[i];
            char *out = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memset(out, 5, n);
            for (int turn = 0; turn < 12; turn++)
                MPI_Sendrecv(out, (int)n / part, MPI_BYTE, rank ^ 1, 0, in, (int)n / part, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
            char *grown = mremap(out, n, 2 * n, MREMAP_MAYMOVE);
            CHECK(grown != MAP_FAILED, "of %zu bytes 1/%d was sent: %s", n, part, strerror(errno));
            if (grown == MAP_FAILED)
                continue;
            size_t wrong = 0;
            for (size_t at = 0; at < n; at++)
                wrong += grown[at] != 5;
            CHECK(wrong == 0 && grown[n] == 0);
            /* From where it is now. */
            memset(grown, 6, n);
            MPI_Sendrecv(grown, (int)n, MPI_BYTE, rank ^ 1, 0, in, (int)n, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(in[0] == 6 && in[n - 1] == 6);
            munmap(grown, 2 * n);
        }
    for (int i = 0; i < 4; i++)
        for (int how = 0; how < 4; how++)
            replaced(lengths[i], how & 1, how & 2, in);
    free(in);
    return finish();
}
