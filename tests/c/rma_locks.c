// ranks: 1 2 3 5
// Locks keep others out, or let them in together; epochs of post and start between any groups.
#include "rma.h"

/* An update of two numbers that is not atomic, under an exclusive lock. */
static void exclusive(struct window *w)
{
    enum { TIMES = 100 };
    long *own = (long *)w->base;
    MPI_Barrier(w->comm);
    own[0] = own[1] = 0;
    see(w->win);
    MPI_Barrier(w->comm);
    for (int i = 0; i < TIMES; i++)
        for (int target = 0; target < w->size; target += w->size > 1 ? w->size - 1 : 1) {
            long pair[2];
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win));
            OK(MPI_Get(pair, 2, MPI_LONG, target, place(w, target, 0), 2, MPI_LONG, w->win));
            OK(MPI_Win_flush(target, w->win));
            CHECK(pair[1] == 3 * pair[0], "%s: %ld and %ld", kind_names[w->kind], pair[0], pair[1]);
            pair[0]++;
            OK(MPI_Put(pair, 1, MPI_LONG, target, place(w, target, 0), 1, MPI_LONG, w->win));
            OK(MPI_Win_flush_local(target, w->win));
            pair[1] += 3;
            OK(MPI_Put(pair + 1, 1, MPI_LONG, target, place(w, target, sizeof(long)), 1, MPI_LONG, w->win));
            OK(MPI_Win_unlock(target, w->win));
        }
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, w->rank, 0, w->win));
    long expected = w->rank == 0 || w->rank == w->size - 1 ? TIMES * w->size : 0;
    CHECK(own[0] == expected && own[1] == 3 * expected, "%s: %ld", kind_names[w->kind], own[0]);
    OK(MPI_Win_unlock(w->rank, w->win));
    MPI_Barrier(w->comm);
}

/* All hold a shared lock at the same time: each waits for all others while it has it. */
static void together(struct window *w)
{
    MPI_Barrier(w->comm);
    *(int *)w->base = 0;
    see(w->win);
    MPI_Barrier(w->comm);
    int one = 1, seen = 0;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, 0, place(w, 0, 0), 1, MPI_INT, MPI_SUM, w->win));
    while (seen < w->size) {
        OK(MPI_Get_accumulate(NULL, 0, MPI_INT, &seen, 1, MPI_INT, 0, place(w, 0, 0), 1, MPI_INT, MPI_NO_OP, w->win));
        OK(MPI_Win_flush(0, w->win));
    }
    OK(MPI_Win_unlock(0, w->win));
    MPI_Barrier(w->comm);
}

/* Writers alone, readers together: no reader sees half of an update. */
static void readers_and_writers(struct window *w)
{
    enum { WORDS = 200, TIMES = 40 };
    long words[WORDS];
    MPI_Barrier(w->comm);
    memset(w->base, 0, w->bytes);
    see(w->win);
    MPI_Barrier(w->comm);
    for (int i = 0; i < TIMES; i++) {
        if ((i + w->rank) % 3 == 0) {
            for (int j = 0; j < WORDS; j++)
                words[j] = i * 100 + w->rank;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
            OK(MPI_Put(words, WORDS, MPI_LONG, 0, place(w, 0, 0), WORDS, MPI_LONG, w->win));
            OK(MPI_Win_unlock(0, w->win));
        } else {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
            OK(MPI_Get(words, WORDS, MPI_LONG, 0, place(w, 0, 0), WORDS, MPI_LONG, w->win));
            OK(MPI_Win_unlock(0, w->win));
            for (int j = 1; j < WORDS; j++)
                CHECK(words[j] == words[0], "%s: word %d is %ld, word 0 %ld", kind_names[w->kind], j, words[j], words[0]);
        }
    }
    MPI_Barrier(w->comm);
}

/* Locks of several targets at a time, ended in another order; lock_all beside locks of one. */
static void several(struct window *w)
{
    MPI_Barrier(w->comm);
    int *own = (int *)w->base, one = 1;
    *own = 0;
    see(w->win);
    MPI_Barrier(w->comm);
    for (int target = 0; target < w->size; target++)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    for (int target = 0; target < w->size; target++)
        OK(MPI_Accumulate(&one, 1, MPI_INT, target, place(w, target, 0), 1, MPI_INT, MPI_SUM, w->win));
    OK(MPI_Win_flush_local_all(w->win));
    OK(MPI_Win_flush_all(w->win));
    for (int target = w->size - 1; target >= 0; target--)
        OK(MPI_Win_unlock(target, w->win));
    for (int i = 0; i < 20; i++) {
        if ((i + w->rank) % 2) {
            OK(MPI_Win_lock_all(0, w->win));
            OK(MPI_Accumulate(&one, 1, MPI_INT, 0, place(w, 0, 0), 1, MPI_INT, MPI_SUM, w->win));
            OK(MPI_Win_unlock_all(w->win));
        } else {
            int number;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
            OK(MPI_Get(&number, 1, MPI_INT, 0, place(w, 0, 0), 1, MPI_INT, w->win));
            OK(MPI_Win_flush(0, w->win));
            number++;
            OK(MPI_Put(&number, 1, MPI_INT, 0, place(w, 0, 0), 1, MPI_INT, w->win));
            OK(MPI_Win_unlock(0, w->win));
        }
    }
    MPI_Barrier(w->comm);
    see(w->win);
    CHECK(*own == w->size * (w->rank == 0 ? 21 : 1), "%s: %d", kind_names[w->kind], *own);
    MPI_Barrier(w->comm);
}

/* Rank 0 exposes to all others, and all others to rank 0, at different times. */
static void groups(struct window *w)
{
    int *own = (int *)w->base, others = w->size - 1;
    if (others == 0)
        return;
    MPI_Group all, first, rest;
    int zero = 0;
    OK(MPI_Win_get_group(w->win, &all));
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_excl(all, 1, &zero, &rest);
    for (int turn = 1; turn <= 20; turn++) {
        int value = 1000 * turn + w->rank;
        if (w->rank == 0) {
            OK(MPI_Win_post(rest, 0, w->win));
            if (turn % 2) {
                OK(MPI_Win_wait(w->win));
            } else {
                int flag = 0;
                while (!flag)
                    OK(MPI_Win_test(w->win, &flag));
            }
            for (int r = 1; r < w->size; r++)
                CHECK(own[r] == 1000 * turn + r, "%s, turn %d: %d", kind_names[w->kind], turn, own[r]);
            OK(MPI_Win_start(rest, 0, w->win));
            for (int r = 1; r < w->size; r++)
                OK(MPI_Put(&value, 1, MPI_INT, r, place(w, r, 0), 1, MPI_INT, w->win));
            OK(MPI_Win_complete(w->win));
        } else {
            OK(MPI_Win_start(first, 0, w->win));
            OK(MPI_Put(&value, 1, MPI_INT, 0, place(w, 0, w->rank * sizeof(int)), 1, MPI_INT, w->win));
            OK(MPI_Win_complete(w->win));
            OK(MPI_Win_post(first, MPI_MODE_NOSTORE, w->win));
            OK(MPI_Win_wait(w->win));
            CHECK(own[0] == 1000 * turn, "%s, turn %d: %d", kind_names[w->kind], turn, own[0]);
        }
    }
    MPI_Group_free(&all);
    MPI_Group_free(&first);
    MPI_Group_free(&rest);
    MPI_Barrier(w->comm);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window(kind, 1600, MPI_COMM_WORLD);
        exclusive(&w);
        together(&w);
        readers_and_writers(&w);
        several(&w);
        groups(&w);
        close_window(&w);
    }
    return finish();
}
