// ranks: 2 3
// mpiexec: -env TERN_LOG error
// timeout: 120
// Programs that give up rights after MPI_Init: the kernel refuses to copy between the processes from then on. All accesses
// to windows that were made before go on, by messages.
#define _GNU_SOURCE
#include "rma.h"
#include <sys/prctl.h>
#include <unistd.h>

enum { LONG = 40000, GAPS = 500 };
static struct window windows[KINDS];

static int value(int from, int round, int i) { return from * 1000003 + round * 7919 + i; }

/* Every kind of access to the next rank's memory, under a lock; what is there afterwards is looked at by gets. */
static void access_all(struct window *w, int round)
{
    const char *kind = kind_names[w->kind];
    int next = (rank + 1) % size, wrong = 0, one = 1, old = -1;
    static int out[LONG], in[LONG], was[LONG];
    MPI_Datatype gaps;
    MPI_Request request;
    OK(MPI_Type_vector(GAPS, 1, 3, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    for (int i = 0; i < LONG; i++) out[i] = value(rank, round, i), in[i] = was[i] = -1;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w->win));
    OK(MPI_Put(out, LONG, MPI_INT, next, place(w, next, 0), LONG, MPI_INT, w->win));
    OK(MPI_Win_flush(next, w->win));
    OK(MPI_Get(in, LONG, MPI_INT, next, place(w, next, 0), LONG, MPI_INT, w->win));
    OK(MPI_Win_flush(next, w->win));
    for (int i = 0; i < LONG; i++) wrong += in[i] != out[i];
    CHECK(wrong == 0, "%s, round %d: %d after put and get", kind, round, wrong);
    /* Short ones, of which some are gathered. */
    for (int i = 0; i < 20; i++) OK(MPI_Put(&out[i], 1, MPI_INT, next, place(w, next, 4 * (100 + 2 * i)), 1, MPI_INT, w->win));
    OK(MPI_Rput(&out[50], 1, MPI_INT, next, place(w, next, 4 * 99), 1, MPI_INT, w->win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(next, w->win));
    OK(MPI_Rget(in, 200, MPI_INT, next, place(w, next, 0), 200, MPI_INT, w->win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    wrong = in[99] != out[50];
    for (int i = 0; i < 20; i++) wrong += in[100 + 2 * i] != out[i];
    CHECK(wrong == 0, "%s, round %d: %d after short puts", kind, round, wrong);
    /* With gaps at the target, and at both sides. */
    OK(MPI_Put(out, GAPS, MPI_INT, next, place(w, next, 8000), 1, gaps, w->win));
    OK(MPI_Win_flush(next, w->win));
    OK(MPI_Accumulate(out, 1, gaps, next, place(w, next, 8000), 1, gaps, MPI_SUM, w->win));
    OK(MPI_Get_accumulate(out, GAPS, MPI_INT, was, GAPS, MPI_INT, next, place(w, next, 8000), 1, gaps, MPI_REPLACE, w->win));
    OK(MPI_Win_flush(next, w->win));
    wrong = 0;
    for (int i = 0; i < GAPS; i++) wrong += was[i] != out[i] + out[3 * i];
    CHECK(wrong == 0, "%s, round %d: %d after accumulates with gaps", kind, round, wrong);
    /* Long accumulates, and single elements. */
    OK(MPI_Accumulate(out, LONG, MPI_INT, next, place(w, next, 0), LONG, MPI_INT, MPI_REPLACE, w->win));
    OK(MPI_Accumulate(out, LONG, MPI_INT, next, place(w, next, 0), LONG, MPI_INT, MPI_SUM, w->win));
    OK(MPI_Fetch_and_op(&one, &old, MPI_INT, next, place(w, next, 16), MPI_SUM, w->win));
    OK(MPI_Win_flush(next, w->win));
    CHECK(old == 2 * out[4], "%s, round %d: fetched %d", kind, round, old);
    one = 2 * out[4] + 1;
    OK(MPI_Compare_and_swap(&round, &one, &old, MPI_INT, next, place(w, next, 16), w->win));
    OK(MPI_Win_flush(next, w->win));
    CHECK(old == one, "%s, round %d: compared with %d", kind, round, old);
    OK(MPI_Get(in, LONG, MPI_INT, next, place(w, next, 0), LONG, MPI_INT, w->win));
    OK(MPI_Win_unlock(next, w->win));
    wrong = 0;
    for (int i = 0; i < LONG; i++) wrong += in[i] != (i == 4 ? round : 2 * out[i]);
    CHECK(wrong == 0, "%s, round %d: %d after accumulates", kind, round, wrong);
    OK(MPI_Type_free(&gaps));
}

/* The kernel refuses from now on: to root's processes that are nobody's, and to others that may not be traced. */
static void give_up_rights(void)
{
    if (geteuid() == 0) CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    else CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++)
        if (kind_differs(kind, MPI_COMM_WORLD))
            windows[kind] = open_window(kind, LONG * sizeof(int), MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++) {
        if (round == 1) give_up_rights();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int kind = 0; kind < KINDS; kind++) {
            if (!windows[kind].base) continue;
            /* The first access after the change is another one in each kind of window. */
            OK(MPI_Win_fence(0, windows[kind].win));
            int one = 1, next = (rank + 1) % size;
            if (round == 1 && kind == CREATED)
                OK(MPI_Accumulate(&one, 1, MPI_INT, next, place(&windows[kind], next, 0), 1, MPI_INT, MPI_MAX, windows[kind].win));
            if (round == 1 && is_dynamic(kind))
                OK(MPI_Put(&one, 1, MPI_INT, next, place(&windows[kind], next, 0), 1, MPI_INT, windows[kind].win));
            OK(MPI_Win_fence(0, windows[kind].win));
            access_all(&windows[kind], round);
            OK(MPI_Win_fence(0, windows[kind].win));
        }
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (windows[kind].base) close_window(&windows[kind]);
    return finish();
}
