// ranks: 2 3
// A target that computes: it calls nothing of MPI until the others have done their work with its
// memory and tell it so by a store that it sees there.
#include "rma.h"

enum { WORDS = 100000, ROW = 3000 };

static void with(int kind)
{
    struct window w = open_window(kind, (WORDS + 5 * size + ROW) * sizeof(long), MPI_COMM_WORLD);
    long *own = (long *)w.base;
    const MPI_Aint row = (WORDS + 5 * size) * sizeof(long);
    if (rank == 0) {
        for (int i = 0; i < WORDS; i++)
            own[i] = i;
        own[0] = 0;
        own[1] = 0;
    }
    see(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        volatile long *done = own;
        while (*done != size - 1)
            ;
    } else {
        long *memory = malloc(WORDS * sizeof(long)), one = 1, was, mine = 1000 + rank;
        double halves[ROW];
        for (int i = 0; i < ROW; i++)
            halves[i] = 0.5;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win));
        OK(MPI_Get(memory, WORDS - 10, MPI_LONG, 0, place(&w, 0, 10 * sizeof(long)), WORDS - 10, MPI_LONG, w.win));
        OK(MPI_Win_flush(0, w.win));
        for (int i = 10; i < WORDS; i++)
            CHECK(memory[i - 10] == i);
        OK(MPI_Put(memory, 5, MPI_LONG, 0, place(&w, 0, (WORDS + rank * 5) * sizeof(long)), 5, MPI_LONG, w.win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, place(&w, 0, sizeof(long)), 1, MPI_LONG, MPI_SUM, w.win));
        OK(MPI_Accumulate(&mine, 1, MPI_LONG, 0, place(&w, 0, 2 * sizeof(long)), 1, MPI_LONG, MPI_MAX, w.win));
        OK(MPI_Accumulate(halves, ROW, MPI_DOUBLE, 0, place(&w, 0, row), ROW, MPI_DOUBLE, MPI_SUM, w.win));
        OK(MPI_Win_unlock(0, w.win));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        OK(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, place(&w, 0, 0), MPI_SUM, w.win));
        OK(MPI_Win_unlock(0, w.win));
        CHECK(was >= 0 && was < size - 1);
        free(memory);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    see(w.win);
    if (rank == 0)
        for (int i = 0; i < 5 * (size - 1); i++)
            CHECK(own[WORDS + 5 + i] == 10 + i % 5);
    if (rank == 0) {
        CHECK(own[1] == size - 1);
        CHECK(own[2] == 1000 + size - 1);
        for (int i = 0; i < ROW; i++)
            CHECK(((double *)(w.base + row))[i] == 0.5 * (size - 1));
    }
    close_window(&w);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (!strict())
        return finish();
    with(SHARED);
    /* Where a mechanism is forced that needs the target's help, it is not there to give it. */
    const char *mechanism = getenv("TERN_MECHANISM");
    if (!mechanism || !strcmp(mechanism, "auto") || !strcmp(mechanism, "mapped")) {
        with(ALLOCATED);
        with(CREATED_SHARED);
    }
    /* A card reaches all memory. */
    if (!on_one_node(MPI_COMM_WORLD)) {
        with(CREATED);
        with(DYNAMIC);
        with(PIECES);
    }
    return finish();
}
