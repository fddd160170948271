// ranks: 1 2 3
// Assertions save what they say: MPI_MODE_NOCHECK takes no lock and waits for no post, fences that neither end nor begin anything
// wait for nobody. What is locked, posted and fenced otherwise goes on as before.
#include "rma.h"
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20, PATIENCE = 30 };

static MPI_Aint at(const struct window *w, int target, int element)
{
    return place(w, target, element * (MPI_Aint)sizeof(long));
}

/* Ends the program when something takes longer than it ever should. */
static void within(time_t start, const char *what)
{
    if (time(NULL) - start > PATIENCE) {
        fprintf(stderr, "rank %d: %s takes too long\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
}

/* Rank 0 waits under a lock for all, which it does not take, for a counter that others raise under an exclusive lock: as
 * coarrays wait for events. */
static void event(struct window *w)
{
    volatile long *counter = (long *)w->base;
    const long one = 1;
    *counter = 0;
    see(w->win);
    MPI_Barrier(w->comm);
    if (rank == 0) {
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win));
        MPI_Barrier(w->comm);
        for (const time_t start = time(NULL); *counter < size - 1; within(start, "an event")) {
            OK(MPI_Win_sync(w->win));
            OK(MPI_Win_flush(0, w->win));
            usleep(100);
        }
        OK(MPI_Win_unlock_all(w->win));
    } else {
        MPI_Barrier(w->comm);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, MPI_SUM, w->win));
        OK(MPI_Win_unlock(0, w->win));
    }
    MPI_Barrier(w->comm);
}

/* The same with a lock of one member, shared or alone; all have it at once. */
static void locked_by_nobody(struct window *w)
{
    for (int type = 0; type < 2; type++) {
        *(long *)w->base = 0;
        see(w->win);
        MPI_Barrier(w->comm);
        const long value = 100 + rank + type;
        for (int target = 0; target < size; target++)
            OK(MPI_Win_lock(type ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, w->win));
        MPI_Barrier(w->comm);
        OK(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, at(w, (rank + 1) % size, 0), 1, MPI_LONG, w->win));
        MPI_Barrier(w->comm);
        for (int target = 0; target < size; target++)
            OK(MPI_Win_unlock(target, w->win));
        MPI_Barrier(w->comm);
        see(w->win);
        const long expected = 100 + (rank + size - 1) % size + type;
        CHECK(*(long *)w->base == expected, "%s: %ld, not %ld", kind_names[w->kind], *(long *)w->base, expected);
    }
}

/* Locks that are taken exclude each other as before, between others that are not: nothing was given up that was not there. */
static void taken_as_before(struct window *w)
{
    long *own = (long *)w->base;
    own[0] = own[1] = 0;
    see(w->win);
    MPI_Barrier(w->comm);
    for (int i = 0; i < ROUNDS; i++) {
        long pair[2];
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win));
        OK(MPI_Win_unlock_all(w->win));
        if (size > 1)
            OK(MPI_Win_lock(MPI_LOCK_SHARED, size - 1, MPI_MODE_NOCHECK, w->win));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
        if (size > 1)
            OK(MPI_Win_unlock(size - 1, w->win));
        OK(MPI_Get(pair, 2, MPI_LONG, 0, at(w, 0, 0), 2, MPI_LONG, w->win));
        OK(MPI_Win_flush(0, w->win));
        CHECK(pair[1] == 3 * pair[0], "%s: %ld and %ld", kind_names[w->kind], pair[0], pair[1]);
        pair[0]++;
        pair[1] += 3;
        OK(MPI_Put(pair, 1, MPI_LONG, 0, at(w, 0, 0), 1, MPI_LONG, w->win));
        OK(MPI_Win_flush(0, w->win));
        OK(MPI_Put(pair + 1, 1, MPI_LONG, 0, at(w, 0, 1), 1, MPI_LONG, w->win));
        OK(MPI_Win_unlock(0, w->win));
        OK(MPI_Win_lock_all(0, w->win));
        OK(MPI_Get(pair, 2, MPI_LONG, 0, at(w, 0, 0), 2, MPI_LONG, w->win));
        OK(MPI_Win_unlock_all(w->win));
        CHECK(pair[1] == 3 * pair[0], "%s: %ld and %ld under a lock for all", kind_names[w->kind], pair[0], pair[1]);
    }
    MPI_Barrier(w->comm);
    see(w->win);
    CHECK(rank > 0 || own[0] == (long)size * ROUNDS, "%s: %ld", kind_names[w->kind], own[0]);
    MPI_Barrier(w->comm);
}

/* Post and start in a ring, with and without a word from the one to the other, in turn and twice the same. */
static void ring(struct window *w)
{
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        const int assert = i % 3 ? MPI_MODE_NOCHECK : 0;
        const long value = 1000 * i + rank;
        MPI_Group from = only(w, last), to = only(w, next);
        OK(MPI_Win_post(from, assert | (i % 2 ? MPI_MODE_NOSTORE : 0), w->win));
        if (assert)
            MPI_Barrier(w->comm);
        OK(MPI_Win_start(to, assert, w->win));
        OK(MPI_Put(&value, 1, MPI_LONG, next, at(w, next, 1), 1, MPI_LONG, w->win));
        OK(MPI_Win_complete(w->win));
        OK(MPI_Win_wait(w->win));
        const long found = ((long *)w->base)[1];
        CHECK(found == 1000 * i + last, "%s, round %d: %ld", kind_names[w->kind], i, found);
        MPI_Group_free(&from);
        MPI_Group_free(&to);
    }
}

/* Fences with all assertions. One that neither ends nor begins anything waits for nobody. */
static void fences(struct window *w)
{
    long *own = (long *)w->base, got = 0;
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        const long value = 2000 * i + rank;
        own[2] = -value;
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
        OK(MPI_Get(&got, 1, MPI_LONG, next, at(w, next, 2), 1, MPI_LONG, w->win));
        OK(MPI_Win_fence(MPI_MODE_NOSTORE, w->win));
        CHECK(got == -(2000 * i + next), "%s, round %d: %ld", kind_names[w->kind], i, got);
        OK(MPI_Put(&value, 1, MPI_LONG, next, at(w, next, 2), 1, MPI_LONG, w->win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, w->win));
        CHECK(own[2] == 2000 * i + last, "%s, round %d: %ld", kind_names[w->kind], i, own[2]);
    }
    const int nothing = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    MPI_Barrier(w->comm);
    /* Only this rank is in one now, and the next one behind it. */
    for (int one = 0; one < size; one++) {
        if (rank == one)
            OK(MPI_Win_fence(nothing, w->win));
        MPI_Barrier(w->comm);
    }
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&got, 1, MPI_LONG, rank, at(w, rank, 2), 1, MPI_LONG, w->win));
}

static void with(int kind)
{
    struct window w = open_window(kind, 64, MPI_COMM_WORLD);
    event(&w);
    locked_by_nobody(&w);
    taken_as_before(&w);
    ring(&w);
    fences(&w);
    close_window(&w);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    each_kind(with);
    return finish();
}
