// ranks: 2 3
// Structures that are replaced as bytes while others look at them: each look sees one replacement, not parts of two. The
// standard promises that of each byte only; all libraries keep it, and programs count on it.
#include "rma.h"

struct entry {
    int number;
    long twice, thrice;
};

static void replace_and_look(struct window *w, int rounds)
{
    struct entry seen = {0};
    long alone = 0, one = 1;
    MPI_Aint at = place(w, 0, 64), counter = place(w, 0, 0);
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock_all(0, w->win));
    for (int i = 1; i <= rounds; i++) {
        if (w->rank == 0) {
            struct entry next = {i, 2L * i, 3L * i};
            OK(MPI_Accumulate(&next, sizeof next, MPI_BYTE, 0, at, sizeof next, MPI_BYTE, MPI_REPLACE, w->win));
        } else {
            OK(MPI_Get_accumulate(NULL, 0, MPI_BYTE, &seen, sizeof seen, MPI_BYTE, 0, at, sizeof seen, MPI_BYTE, MPI_NO_OP,
                                  w->win));
        }
        OK(MPI_Win_flush(0, w->win));
        if (seen.twice != 2L * seen.number || seen.thrice != 3L * seen.number) {
            CHECK(0, "%s: %d, %ld and %ld", kind_names[w->kind], seen.number, seen.twice, seen.thrice);
            break;
        }
        /* Counters beside them. */
        if (i % 64 == 0)
            OK(MPI_Fetch_and_op(&one, &alone, MPI_LONG, 0, counter, MPI_SUM, w->win));
    }
    OK(MPI_Win_unlock_all(w->win));
    MPI_Barrier(w->comm);
    see(w->win);
    if (w->rank == 0)
        CHECK(*(long *)w->base == (long)w->size * (rounds / 64), "%ld", *(long *)w->base);
    MPI_Barrier(w->comm);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        if (!kind_differs(kind, MPI_COMM_WORLD))
            continue;
        struct window w = open_window(kind, 128, MPI_COMM_WORLD);
        replace_and_look(&w, on_one_node(MPI_COMM_WORLD) ? 20000 : 500);
        close_window(&w);
    }
    return finish();
}
