// ranks: 2 3
// Short accesses and long sums to private memory, whose owner makes them itself while it waits in the library, and others make by other
// means while it does not: all are atomic with each other, and what a flush ended is there.
#include "rma.h"

/* LONG takes more than one part of what an owner is asked for at once. */
enum { ROUNDS = 400, SUMS = 2, MANY = 40, OWN = 8, LONG = 9000 };

static long ones[LONG];
/* Between nodes a long row of such elements is a request for each, and a swap that fails takes long. */
static int near;

static MPI_Aint word(const struct window *w, int target, int at)
{
    return place(w, target, at * (MPI_Aint)sizeof(long));
}

/* The word that all raise by compare and swap; behind it the long row. */
#define SWAPS(w) (SUMS + MANY + OWN * (w)->size)

/* Sums of one element and of many at word SUMS on and before, and a word of this rank's own, at `target`. */
static void work(struct window *w, int target)
{
    long one = 1, was, mine, back, last = -1;
    const int own = SUMS + MANY + OWN * w->rank;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    for (long i = 0; i < ROUNDS; i++) {
        OK(MPI_Fetch_and_op(&one, &was, MPI_LONG, target, word(w, target, 0), MPI_SUM, w->win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, target, word(w, target, 1), 1, MPI_LONG, MPI_SUM, w->win));
        /* More than a request has room for. */
        OK(MPI_Accumulate(ones, MANY, MPI_LONG, target, word(w, target, SUMS), MANY, MPI_LONG, MPI_SUM, w->win));
        OK(MPI_Win_flush_local(target, w->win));
        CHECK(was > last, "the sum was %ld and then %ld", last, was);
        last = was;
        mine = 1000 * (w->rank + 1) + i;
        OK(MPI_Put(&mine, 1, MPI_LONG, target, word(w, target, own), 1, MPI_LONG, w->win));
        OK(MPI_Win_flush(target, w->win));
        back = mine;
        mine = -1;
        OK(MPI_Get(&was, 1, MPI_LONG, target, word(w, target, own), 1, MPI_LONG, w->win));
        OK(MPI_Win_flush(target, w->win));
        CHECK(was == back, "put %ld, got %ld", back, was);
        OK(MPI_Get_accumulate(&mine, 1, MPI_LONG, &was, 1, MPI_LONG, target, word(w, target, own), 1, MPI_LONG, MPI_REPLACE,
                              w->win));
        OK(MPI_Win_flush(target, w->win));
        CHECK(was == back, "put %ld, fetched %ld", back, was);
        OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, &was, 1, MPI_LONG, target, word(w, target, own), 1, MPI_LONG, MPI_NO_OP,
                              w->win));
        OK(MPI_Win_flush(target, w->win));
        CHECK(was == -1, "put -1, fetched %ld", was);
        was = 7;
        OK(MPI_Compare_and_swap(&was, &mine, &back, MPI_LONG, target, word(w, target, own), w->win));
        OK(MPI_Win_flush(target, w->win));
        CHECK(back == -1, "swapped %ld", back);
        if (!near)
            continue;
        /* Only one of those that try it gets from a sum to the next, and all count. */
        OK(MPI_Get(&was, 1, MPI_LONG, target, word(w, target, SWAPS(w)), 1, MPI_LONG, w->win));
        do {
            OK(MPI_Win_flush(target, w->win));
            back = was;
            mine = back + 1;
            OK(MPI_Compare_and_swap(&mine, &back, &was, MPI_LONG, target, word(w, target, SWAPS(w)), w->win));
            OK(MPI_Win_flush(target, w->win));
        } while (was != back);
        if (i % 8 == 0)
            OK(MPI_Accumulate(ones, LONG, MPI_LONG, target, word(w, target, SWAPS(w) + 1), LONG, MPI_LONG, MPI_SUM, w->win));
    }
    OK(MPI_Win_unlock(target, w->win));
}

static void check_sums(struct window *w, int workers)
{
    long *own = (long *)w->base;
    for (int i = 0; i < SUMS + MANY; i++)
        CHECK(own[i] == (long)workers * ROUNDS, "%s: word %d is %ld", kind_names[w->kind], i, own[i]);
    own += SWAPS(w);
    CHECK(!near || own[0] == (long)workers * ROUNDS, "%s: swapped to %ld", kind_names[w->kind], own[0]);
    for (int i = 1; near && i <= LONG; i++)
        CHECK(own[i] == (long)workers * ROUNDS / 8, "%s: word %d of the row is %ld", kind_names[w->kind], i, own[i]);
}

static void with(int kind)
{
    struct window w = open_window(kind, (SUMS + MANY + OWN * size + 1 + LONG) * sizeof(long), MPI_COMM_WORLD);
    /* The owner waits all the time. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        work(&w, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    see(w.win);
    if (rank == 0)
        check_sums(&w, size - 1);
    memset(w.base, 0, w.bytes);
    see(w.win);
    /* It computes, and waits, and computes again; then it waits for a message that tells that a rank is done. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int done = 0; done < size - 1; done++) {
            for (volatile int i = 0; i < 300000; i++)
                ;
            OK(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        see(w.win);
        check_sums(&w, size - 1);
    } else {
        work(&w, 0);
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memset(w.base, 0, w.bytes);
    see(w.win);
    /* All work on all, themselves too. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        work(&w, (rank + i) % size);
    MPI_Barrier(MPI_COMM_WORLD);
    see(w.win);
    check_sums(&w, size);
    close_window(&w);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    near = on_one_node(MPI_COMM_WORLD);
    for (int i = 0; i < LONG; i++)
        ones[i] = 1;
    with(CREATED);
    if (kind_differs(DYNAMIC, MPI_COMM_WORLD))
        with(DYNAMIC);
    return finish();
}
