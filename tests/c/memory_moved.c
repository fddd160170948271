// ranks: 2
// mpiexec: -x TERN_PROMOTE=always
// Pages of a buffer that is used for messages go elsewhere, and others come in their place: both keep what they hold.
#define _GNU_SOURCE
#include "check.h"
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int n = 4 << 20, m = 1 << 20;
    /* Made first, so that it lies above the buffer. */
    char *moved = mmap(NULL, m, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *out = malloc(n), *in = malloc(n);
    memset(out, 1, n);
    memset(in, 2, n);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 40; i++)
            MPI_Sendrecv(out, n, MPI_BYTE, rank ^ 1, 0, in, n, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (round == 0) {
            const uintptr_t length = (uintptr_t)sysconf(_SC_PAGESIZE);
            char *page = (char *)(((uintptr_t)in + 2 * length) & ~(length - 1));
            CHECK(mremap(page, m, m, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved);
            CHECK(mmap(page, m, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
            memset(moved, 77, m);
            memset(page, 2, m);
        }
    }
    int wrong = 0;
    for (int i = 0; i < m; i++)
        wrong += moved[i] != 77;
    CHECK(wrong == 0, "%d bytes of the moved pages are others", wrong);
    for (int i = 0; i < n; i++)
        wrong += in[i] != 1;
    CHECK(wrong == 0);
    return finish();
}
