// ranks: 2 3 4 7
// timeout: 120
// Several nodes: who is on which, communicators of a node and across nodes, collectives with members on any of them.
#include "check.h"
#include <stdlib.h>

#define MOST 64
enum { LONG = 300000 };
static char names[MOST][MPI_MAX_PROCESSOR_NAME];
static int same[MOST], here;

/* Who has the same name as this process is on its node, and nobody else. */
static void nodes(MPI_Comm *node)
{
    int length, place, count;
    memset(names, 0, sizeof names);
    OK(MPI_Get_processor_name(names[rank], &length));
    CHECK((int)strlen(names[rank]) == length);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++)
        if (strcmp(names[r], names[rank]) == 0) same[here++] = r;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node));
    MPI_Comm_size(*node, &count);
    MPI_Comm_rank(*node, &place);
    CHECK(count == here, "%d, not %d", count, here);
    CHECK(same[place] == rank);
    MPI_Comm unguided;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &unguided));
    /* On one node ranks may differ by their cores. */
    CHECK(unguided != MPI_COMM_NULL || here == size);
    if (unguided != MPI_COMM_NULL) OK(MPI_Comm_free(&unguided));
    /* Only processes of one node share a window. */
    MPI_Win win;
    int *base = NULL;
    OK(MPI_Win_allocate_shared(sizeof *base, sizeof *base, MPI_INFO_NULL, *node, &base, &win));
    *base = rank;
    OK(MPI_Win_fence(0, win));
    for (int p = 0; p < count; p++) {
        MPI_Aint bytes;
        int unit, *other;
        OK(MPI_Win_shared_query(win, p, &bytes, &unit, &other));
        CHECK(*other == same[p]);
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

/* All collectives that go in two levels, at every root and in lengths for one turn of the lines, several, and none. */
static void collectives(MPI_Comm comm)
{
    static const int counts[] = {0, 1, 100, 5000, 20000, LONG};
    static int in[LONG], out[LONG], all[MOST * 5000];
    int me, of;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &of);
    for (int c = 0; c < 6; c++) {
        int n = counts[c];
        for (int root = 0; root < of; root++) {
            for (int i = 0; i < n; i++) in[i] = me == root ? i * 7 + root : -1;
            OK(MPI_Bcast(in, n, MPI_INT, root, comm));
            for (int i = 0; i < n; i++)
                if (in[i] != i * 7 + root) { CHECK(0, "bcast of %d from %d: place %d has %d", n, root, i, in[i]); return; }
            for (int i = 0; i < n; i++) in[i] = i + me;
            memset(out, -1, n * sizeof *out);
            OK(MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm));
            for (int i = 0; i < n; i++) {
                int right = me == root ? of * i + of * (of - 1) / 2 : -1;
                if (out[i] != right) { CHECK(0, "reduce of %d to %d: place %d has %d", n, root, i, out[i]); return; }
            }
            if (me == root) memcpy(out, in, n * sizeof *out);
            OK(MPI_Reduce(me == root ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_MAX, root, comm));
            for (int i = 0; i < n; i++)
                if (me == root && out[i] != i + of - 1) { CHECK(0, "reduce in place: place %d has %d", i, out[i]); return; }
        }
        OK(MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm));
        for (int i = 0; i < n; i++)
            if (out[i] != of * i + of * (of - 1) / 2) { CHECK(0, "allreduce of %d: place %d has %d", n, i, out[i]); return; }
        OK(MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INT, MPI_MIN, comm));
        for (int i = 0; i < n; i++)
            if (in[i] != i) { CHECK(0, "allreduce in place of %d: place %d has %d", n, i, in[i]); return; }
        OK(MPI_Barrier(comm));
        if (n > 5000) continue;
        for (int i = 0; i < n; i++) in[i] = me * 10000 + i;
        OK(MPI_Allgather(in, n, MPI_INT, all, n, MPI_INT, comm));
        for (int r = 0; r < of; r++)
            for (int i = 0; i < n; i++)
                if (all[r * n + i] != r * 10000 + i) { CHECK(0, "allgather of %d: %d has %d", n, r, all[r * n + i]); return; }
    }
    /* Nobody leaves a barrier before all have come. */
    for (int round = 0; round < 20; round++) {
        int late = round % of, seen = 0;
        if (me == late) {
            for (int r = 0; r < of; r++)
                if (r != me) OK(MPI_Send(&round, 1, MPI_INT, r, 3, comm));
        }
        OK(MPI_Barrier(comm));
        if (me != late) {
            OK(MPI_Recv(&seen, 1, MPI_INT, late, 3, comm, MPI_STATUS_IGNORE));
            CHECK(seen == round);
        }
    }
}

/* Every pair, both ways at once, short and long. */
static void messages(void)
{
    static const int counts[] = {1, 30, 1000, 20000, LONG};
    static int in[LONG], out[LONG];
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank - step + size) % size;
        for (int c = 0; c < 5; c++) {
            int n = counts[c];
            for (int i = 0; i < n; i++) out[i] = rank + i, in[i] = -1;
            OK(MPI_Sendrecv(out, n, MPI_INT, to, c, in, n, MPI_INT, from, c, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            for (int i = 0; i < n; i++)
                if (in[i] != from + i) { CHECK(0, "%d from %d: place %d has %d", n, from, i, in[i]); return; }
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm node, backwards, across;
    begin(&argc, &argv);
    nodes(&node);
    messages();
    collectives(MPI_COMM_WORLD);
    collectives(node);
    /* The leader of a node is not its first rank of the world here, and roots are elsewhere. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards));
    collectives(backwards);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &across));
    collectives(across);
    OK(MPI_Comm_free(&across));
    OK(MPI_Comm_free(&backwards));
    OK(MPI_Comm_free(&node));
    return finish();
}
