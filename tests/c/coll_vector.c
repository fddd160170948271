// ranks: 1 2 3 4 5
// The v and w forms: counts that differ, gaps, blocks in any order, empty ones, in place.
#include "coll.h"

enum { GAP = 2 };

/* Elements that rank r sends to rank t. */
static int amount(int r, int t) { return (r + 2 * t) % 4; }
static int given(int r, int t, int i) { return r * 10000 + t * 100 + i; }

static int *filled(int n, int value)
{
    int *p = malloc((n + 1) * sizeof(int));
    for (int i = 0; i < n; i++) p[i] = value;
    return p;
}

/* Counts as both forms of a function take them. */
static int counts[64], displs[64];
static MPI_Count large_counts[64];
static MPI_Aint large_displs[64];
static int room;

/* Blocks of the given sizes, the last rank's first, with gaps between them. */
static void lay_out(int (*of)(int, int), int r, int receiving)
{
    room = 0;
    for (int t = size - 1; t >= 0; t--) {
        large_counts[t] = counts[t] = receiving ? of(t, r) : of(r, t);
        large_displs[t] = displs[t] = room + GAP;
        room += counts[t] + GAP;
    }
}

static void check_blocks(const int *b, int to, const char *what)
{
    int bad = 0, seen = 0;
    for (int t = 0; t < size; t++)
        for (int i = 0; i < counts[t]; i++, seen++) bad += b[displs[t] + i] != given(t, to, i);
    for (int i = 0; i < room; i++) seen += b[i] == -1;
    CHECK(!bad, "%s", what);
    CHECK(seen == room, "%s wrote between the blocks", what);
}

static int own_amount(int r, int t) { return (void)t, (r + 1) % 4; }

static void gathers(int form, int large, int root)
{
    int n = own_amount(rank, 0), bad = 0;
    int *own = filled(n, 0);
    for (int i = 0; i < n; i++) own[i] = given(rank, 0, i);
    lay_out(own_amount, 0, 1);
    int *all = filled(room, -1);
    int here = rank == root;
    if (large)
        COLL_LARGE(form, MPI_COMM_WORLD, Gatherv, gatherv, own, n, MPI_INT, here ? all : NULL,
                   here ? large_counts : NULL, here ? large_displs : NULL, here ? MPI_INT : MPI_DATATYPE_NULL, root);
    else
        COLL(form, MPI_COMM_WORLD, Gatherv, gatherv, own, n, MPI_INT, here ? all : NULL, here ? counts : NULL,
             here ? displs : NULL, here ? MPI_INT : MPI_DATATYPE_NULL, root);
    if (here) check_blocks(all, 0, "gatherv");
    for (int i = 0; i < n; i++) own[i] = -1;
    if (large)
        COLL_LARGE(form, MPI_COMM_WORLD, Scatterv, scatterv, here ? all : NULL, here ? large_counts : NULL,
                   here ? large_displs : NULL, here ? MPI_INT : MPI_DATATYPE_NULL, own, n, MPI_INT, root);
    else
        COLL(form, MPI_COMM_WORLD, Scatterv, scatterv, here ? all : NULL, here ? counts : NULL, here ? displs : NULL,
             here ? MPI_INT : MPI_DATATYPE_NULL, own, n, MPI_INT, root);
    for (int i = 0; i < n; i++) bad += own[i] != given(rank, 0, i);
    CHECK(!bad, "scatterv");
    if (here) {
        COLL(form, MPI_COMM_WORLD, Scatterv, scatterv, all, counts, displs, MPI_INT, MPI_IN_PLACE, 0,
             MPI_DATATYPE_NULL, root);
        COLL(form, MPI_COMM_WORLD, Gatherv, gatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, displs, MPI_INT,
             root);
        check_blocks(all, 0, "gatherv in place");
    } else {
        COLL(form, MPI_COMM_WORLD, Scatterv, scatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, own, n, MPI_INT, root);
        COLL(form, MPI_COMM_WORLD, Gatherv, gatherv, own, n, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root);
    }
    for (int i = 0; i < room; i++) all[i] = -1;
    if (large)
        COLL_LARGE(form, MPI_COMM_WORLD, Allgatherv, allgatherv, own, n, MPI_INT, all, large_counts, large_displs,
                   MPI_INT);
    else
        COLL(form, MPI_COMM_WORLD, Allgatherv, allgatherv, own, n, MPI_INT, all, counts, displs, MPI_INT);
    check_blocks(all, 0, "allgatherv");
    for (int i = 0; i < room; i++)
        if (i < displs[rank] || i >= displs[rank] + n) all[i] = -1;
    COLL(form, MPI_COMM_WORLD, Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, displs,
         MPI_INT);
    check_blocks(all, 0, "allgatherv in place");
    free(own);
    free(all);
}

static int symmetric(int r, int t) { return (r + t) % 3; }

static void alltoalls(int form, int large)
{
    int scounts[64], sdispls[64];
    MPI_Count slarge[64];
    MPI_Aint sldispls[64];
    lay_out(amount, rank, 0);
    int *out = filled(room, -7);
    for (int t = 0; t < size; t++) {
        slarge[t] = scounts[t] = counts[t];
        sldispls[t] = sdispls[t] = displs[t];
        for (int i = 0; i < counts[t]; i++) out[displs[t] + i] = given(rank, t, i);
    }
    lay_out(amount, rank, 1);
    int *in = filled(room, -1);
    if (large)
        COLL_LARGE(form, MPI_COMM_WORLD, Alltoallv, alltoallv, out, slarge, sldispls, MPI_INT, in, large_counts,
                   large_displs, MPI_INT);
    else
        COLL(form, MPI_COMM_WORLD, Alltoallv, alltoallv, out, scounts, sdispls, MPI_INT, in, counts, displs, MPI_INT);
    check_blocks(in, rank, "alltoallv");

    /* Types and byte displacements of each rank: pairs of ints for even ranks. */
    MPI_Datatype stypes[64], rtypes[64], half = MPI_INT, pair;
    OK(MPI_Type_contiguous(1, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    int bytes[64], sbytes[64];
    MPI_Aint lbytes[64], slbytes[64];
    for (int t = 0; t < size; t++) {
        stypes[t] = t % 2 ? half : pair;
        rtypes[t] = t % 3 ? half : pair;
        lbytes[t] = bytes[t] = displs[t] * (int)sizeof(int);
        slbytes[t] = sbytes[t] = sdispls[t] * (int)sizeof(int);
    }
    for (int i = 0; i < room; i++) in[i] = -1;
    if (large)
        COLL_LARGE(form, MPI_COMM_WORLD, Alltoallw, alltoallw, out, slarge, slbytes, stypes, in, large_counts, lbytes,
                   rtypes);
    else
        COLL(form, MPI_COMM_WORLD, Alltoallw, alltoallw, out, scounts, sbytes, stypes, in, counts, bytes, rtypes);
    check_blocks(in, rank, "alltoallw");
    free(out);
    free(in);

    if (form != TWICE) {
        lay_out(symmetric, rank, 1);
        for (int w = 0; w < 2; w++) {
            in = filled(room, -1);
            for (int t = 0; t < size; t++) {
                bytes[t] = displs[t] * (int)sizeof(int);
                for (int i = 0; i < counts[t]; i++) in[displs[t] + i] = given(rank, t, i);
            }
            if (w)
                COLL(form, MPI_COMM_WORLD, Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, in, counts, bytes,
                     rtypes);
            else
                COLL(form, MPI_COMM_WORLD, Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in,
                     counts, displs, MPI_INT);
            check_blocks(in, rank, w ? "alltoallw in place" : "alltoallv in place");
            free(in);
        }
    }
    OK(MPI_Type_free(&pair));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int form = 0; form < FORMS; form++)
        for (int large = 0; large < 2; large++) {
            gathers(form, large, large ? size - 1 : 0);
            alltoalls(form, large);
        }
    return finish();
}
