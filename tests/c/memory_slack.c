// ranks: 2
// timeout: 120
// mpiexec: -x TERN_PROMOTE=always
// Where the address space is limited, what only makes messages faster (promotion, views of the other's memory) leaves enough of it
// free for the program. Without the limit it takes what it can use.
#define _GNU_SOURCE
#include "limit.h"

enum { BUFFERS = 48, EACH = 2 << 20, MORE = 80 << 20 };

static char *out[BUFFERS], *in[BUFFERS];

static void exchange(void)
{
    int other = rank ^ 1;
    for (int turn = 0; turn < 4; turn++)
        for (int at = 0; at < BUFFERS; at++) {
            out[at][turn] = (char)(rank + turn + at);
            OK(MPI_Sendrecv(out[at], EACH, MPI_CHAR, other, at, in[at], EACH, MPI_CHAR, other, at, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(in[at][turn] == (char)(other + turn + at));
        }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int at = 0; at < BUFFERS; at++) {
        out[at] = malloc(EACH), in[at] = malloc(EACH);
        memset(out[at], 0, EACH), memset(in[at], 0, EACH);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    struct rlimit before = limit_to(MORE), now;
    exchange();
    getrlimit(RLIMIT_AS, &now);
    /* 64 MiB, or an eighth of the limit; a little of it is for other memory of the library. */
    size_t left = now.rlim_cur - in_use(), eighth = now.rlim_cur / 8;
    size_t spare = (eighth < 64 << 20 ? eighth : 64 << 20) - (4 << 20);
    CHECK(left >= spare, "%zu bytes are left, not %zu", left, spare);
    void *mine = malloc(spare - (4 << 20));
    CHECK(mine != NULL);
    free(mine);
    lift(before);
    size_t used = in_use();
    exchange();
    if (!failures && in_use() < used + (8 << 20))
        printf("skipped: without a limit it takes no more either: the kernel, or a container, refuses promotion\n");
    return finish();
}
