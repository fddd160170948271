// ranks: 2 4
// Rows of some dozens to some thousands of elements, which kernels combine under a guard once enough of them have come, and single
// elements, which instructions combine: at the same memory, by turns and at once, so that each is done in the way of the other.
#include "rma.h"

enum { LONGEST = 2000, ROUNDS = 60, LENGTHS = 5 };

static const int lengths[LENGTHS] = {2, 20, 64, 500, LONGEST};

/* Rows alone, single elements alone, or both. */
static int rows_of(int round)
{
    return round / 10 % 3 != 1 ? 1 + round % 4 : 0;
}

static int singles_of(int round)
{
    return round / 10 % 3 != 0 ? 200 : 0;
}

static void with(int kind)
{
    struct window w = open_window(kind, LONGEST * sizeof(long), MPI_COMM_WORLD);
    /* Between nodes each element is a request to a card. */
    const int rounds = on_one_node(w.comm) ? ROUNDS : 3;
    long ones[LONGEST], before[LONGEST], *own = (long *)w.base, swapped = 0;
    for (int i = 0; i < LONGEST; i++)
        ones[i] = 1, own[i] = 0;
    see(w.win);
    MPI_Barrier(w.comm);
    OK(MPI_Win_lock_all(0, w.win));
    for (int round = 0; round < rounds; round++) {
        const int length = lengths[round % LENGTHS];
        for (int k = 0; k < rows_of(round); k++) {
            if (k % 2)
                OK(MPI_Get_accumulate(ones, length, MPI_LONG, before, length, MPI_LONG, 0, place(&w, 0, 0), length, MPI_LONG,
                                      MPI_SUM, w.win));
            else
                OK(MPI_Accumulate(ones, length, MPI_LONG, 0, place(&w, 0, 0), length, MPI_LONG, MPI_SUM, w.win));
            OK(MPI_Win_flush(0, w.win));
        }
        for (int k = 0; k < singles_of(round); k++) {
            long old, next, found;
            OK(MPI_Fetch_and_op(ones, &old, MPI_LONG, 0, place(&w, 0, 0), MPI_SUM, w.win));
            OK(MPI_Win_flush(0, w.win));
            next = old + 2, old += 1;
            OK(MPI_Compare_and_swap(&next, &old, &found, MPI_LONG, 0, place(&w, 0, 0), w.win));
            OK(MPI_Win_flush(0, w.win));
            CHECK(found >= old, "%ld after %ld", found, old);
            swapped += found == old;
        }
    }
    OK(MPI_Win_unlock_all(w.win));
    OK(MPI_Allreduce(MPI_IN_PLACE, &swapped, 1, MPI_LONG, MPI_SUM, w.comm));
    see(w.win);
    for (int i = 0; i < LONGEST && w.rank == 0; i++) {
        long expected = i ? 0 : swapped;
        for (int round = 0; round < rounds; round++)
            expected += w.size * ((lengths[round % LENGTHS] > i) * rows_of(round) + (i == 0) * singles_of(round));
        CHECK(own[i] == expected, "%s, element %d: %ld, not %ld", kind_names[kind], i, own[i], expected);
    }
    MPI_Barrier(w.comm);
    close_window(&w);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    each_kind(with);
    return finish();
}
