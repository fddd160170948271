// ranks: 2 3
// Many short puts into every kind of window, ended in every way: all of them are there then, and what was put may
// be changed.
#include "rma.h"

enum { MANY = 700, STEP = 24, BYTES = MANY * STEP };

enum { BY_FLUSH, BY_FLUSH_LOCAL, BY_FLUSH_ALL, BY_FLUSH_LOCAL_ALL, BY_UNLOCK, BY_FENCE, BY_COMPLETE, ENDS };

static void puts_to(struct window *w, int target, int step, long *from, long seed)
{
    for (int i = 0; i < MANY; i++) {
        from[i] = seed + i;
        OK(MPI_Put(&from[i], 1, MPI_LONG, target, place(w, target, i * step), 1, MPI_LONG, w->win));
    }
}

static void one(struct window *w, int end, int step)
{
    static long from[MANY];
    int target = (w->rank + 1) % w->size, origin = (w->rank + w->size - 1) % w->size;
    long seed = 1000L * (w->rank + 1) + end;
    MPI_Group all, to, by;
    OK(MPI_Comm_group(w->comm, &all));
    OK(MPI_Group_incl(all, 1, &target, &to));
    OK(MPI_Group_incl(all, 1, &origin, &by));
    memset(w->base, 0, BYTES);
    OK(MPI_Barrier(w->comm));
    if (end == BY_FENCE)
        OK(MPI_Win_fence(0, w->win));
    else if (end == BY_COMPLETE) {
        OK(MPI_Win_post(by, 0, w->win));
        OK(MPI_Win_start(to, 0, w->win));
    } else if (end == BY_UNLOCK)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    else
        OK(MPI_Win_lock_all(0, w->win));
    puts_to(w, target, step, from, seed);
    if (end == BY_FLUSH || end == BY_FLUSH_LOCAL)
        OK(end == BY_FLUSH ? MPI_Win_flush(target, w->win) : MPI_Win_flush_local(target, w->win));
    else if (end == BY_FLUSH_ALL || end == BY_FLUSH_LOCAL_ALL)
        OK(end == BY_FLUSH_ALL ? MPI_Win_flush_all(w->win) : MPI_Win_flush_local_all(w->win));
    else if (end == BY_UNLOCK)
        OK(MPI_Win_unlock(target, w->win));
    else if (end == BY_FENCE)
        OK(MPI_Win_fence(0, w->win));
    else {
        OK(MPI_Win_complete(w->win));
        OK(MPI_Win_wait(w->win));
    }
    /* Whatever is written here now must not be what was put. */
    memset(from, 0xff, sizeof from);
    if (end < BY_UNLOCK)
        OK(MPI_Win_unlock_all(w->win));
    OK(MPI_Barrier(w->comm));
    long expected = 1000L * (origin + 1) + end;
    int wrong = 0;
    for (int i = 0; i < MANY && !wrong; i++) {
        long got;
        memcpy(&got, w->base + i * step, sizeof got);
        wrong = got != expected + i;
        CHECK(!wrong, "%s, end %d, step %d: put %d is %ld, not %ld", kind_names[w->kind], end, step, i, got, expected + i);
    }
    OK(MPI_Barrier(w->comm));
    if (end == BY_FENCE)
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&by));
}

/* Other accesses to the same place, after a flush and without one to another. */
static void between(struct window *w)
{
    long value = 7 + w->rank, more = 100, seen = 0;
    int target = (w->rank + 1) % w->size;
    MPI_Request request;
    memset(w->base, 0, BYTES);
    OK(MPI_Barrier(w->comm));
    OK(MPI_Win_lock_all(0, w->win));
    OK(MPI_Put(&value, 1, MPI_LONG, target, place(w, target, 0), 1, MPI_LONG, w->win));
    OK(MPI_Accumulate(&more, 1, MPI_LONG, target, place(w, target, 64), 1, MPI_LONG, MPI_SUM, w->win));
    OK(MPI_Put(&value, 1, MPI_LONG, target, place(w, target, 128), 1, MPI_LONG, w->win));
    OK(MPI_Rput(&more, 1, MPI_LONG, target, place(w, target, 192), 1, MPI_LONG, w->win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get(&seen, 1, MPI_LONG, target, place(w, target, 0), 1, MPI_LONG, w->win));
    OK(MPI_Win_flush(target, w->win));
    CHECK(seen == 7 + w->rank, "%s: %ld", kind_names[w->kind], seen);
    OK(MPI_Win_unlock_all(w->win));
    OK(MPI_Barrier(w->comm));
    long found[4], from = 7 + (w->rank + w->size - 1) % w->size;
    for (int i = 0; i < 4; i++) memcpy(&found[i], w->base + 64 * i, sizeof(long));
    CHECK(found[0] == from && found[1] == 100 && found[2] == from && found[3] == 100, "%s: %ld %ld %ld %ld",
          kind_names[w->kind], found[0], found[1], found[2], found[3]);
    OK(MPI_Barrier(w->comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window(kind, BYTES, MPI_COMM_WORLD);
        for (int end = 0; end < ENDS; end++) {
            one(&w, end, STEP);
            one(&w, end, (int)sizeof(long));
        }
        between(&w);
        close_window(&w);
    }
    return finish();
}
