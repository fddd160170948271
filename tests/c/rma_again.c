// ranks: 1 2 3
// The same long put and get again and again, which Tern makes now by one kind of stores and now by the other, to find out which is
// faster; at any alignment, next to each other, and within one window's memory.
#include "rma.h"

enum { LENGTH = 300001, TIMES = 60, SKEW = 64 };

static unsigned char expected(int from, int time, int i)
{
    return (unsigned char)(from * 5 + time * 31 + i % 251);
}

static void with(int kind)
{
    struct window w = open_window(kind, 2 * (LENGTH + SKEW), MPI_COMM_WORLD);
    const int to = (w.rank + 1) % w.size, from = (w.rank + w.size - 1) % w.size;
    unsigned char *mine = malloc(LENGTH + SKEW), *back = malloc(LENGTH + SKEW);
    for (int time = 0; time < TIMES; time++) {
        const int skew = time * 7 % SKEW, second = LENGTH + SKEW;
        for (int i = 0; i < LENGTH; i++)
            mine[skew / 2 + i] = expected(w.rank, time, i);
        memset(w.base, 0, 2 * (LENGTH + SKEW));
        OK(MPI_Win_fence(0, w.win));
        OK(MPI_Put(mine + skew / 2, LENGTH, MPI_BYTE, to, place(&w, to, skew), LENGTH, MPI_BYTE, w.win));
        OK(MPI_Win_fence(0, w.win));
        int wrong = 0;
        for (int i = 0; i < LENGTH; i++)
            wrong += (unsigned char)w.base[skew + i] != expected(from, time, i);
        CHECK(!wrong && (!skew || !w.base[skew - 1]) && !w.base[skew + LENGTH], "%s, put %d: %d bytes", kind_names[kind], time, wrong);
        /* From the first half of the neighbour's memory into the second half of one's own. */
        OK(MPI_Get(w.base + second, LENGTH, MPI_BYTE, to, place(&w, to, skew), LENGTH, MPI_BYTE, w.win));
        OK(MPI_Get(back + skew, LENGTH, MPI_BYTE, to, place(&w, to, skew), LENGTH, MPI_BYTE, w.win));
        OK(MPI_Win_fence(0, w.win));
        CHECK(!memcmp(w.base + second, mine + skew / 2, LENGTH), "%s, get %d into the window", kind_names[kind], time);
        CHECK(!memcmp(back + skew, mine + skew / 2, LENGTH), "%s, get %d", kind_names[kind], time);
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    free(mine);
    free(back);
    close_window(&w);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    each_kind(with);
    return finish();
}
