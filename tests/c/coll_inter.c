// ranks: 2 3 4 7
// Collectives on an intercommunicator of two groups of different size.
#include "coll.h"

enum { N = 5 };

static MPI_Comm inter;
static int own_rank, own_size, remote_size, low;

/* Element i that rank r of a group (0 high, 1 low) gives to rank t of the other. */
static int given(int group, int r, int t, int i) { return group * 1000000 + r * 10000 + t * 100 + i; }

/* The root as each process names it: rank `root` of the low group if `from_low`, else of the high one. */
static int named(int root, int from_low)
{
    if (low != from_low) return root;
    return own_rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(int form, int from_low, int root)
{
    int name = named(root, from_low), group_size = from_low ? (low ? own_size : remote_size) : (low ? remote_size : own_size);
    int others = size - group_size, at_root = name == MPI_ROOT, leaf = name >= 0, bad = 0;
    int *all = malloc((size_t)others * N * sizeof(int)), b[N];
    for (int i = 0; i < N; i++) b[i] = at_root ? given(low, root, 0, i) : -1;
    if (name == MPI_PROC_NULL && strict())
        COLL(form, inter, Bcast, bcast, NULL, -1, MPI_DATATYPE_NULL, name);
    else
        COLL(form, inter, Bcast, bcast, b, N, MPI_INT, name);
    for (int i = 0; i < N && leaf; i++) bad += b[i] != given(from_low, root, 0, i);
    CHECK(!bad, "bcast, %s", form_names[form]);

    for (int i = 0; i < N; i++) b[i] = given(low, own_rank, 0, i);
    for (int i = 0; i < N * others; i++) all[i] = -1;
    COLL(form, inter, Gather, gather, b, N, MPI_INT, all, N, MPI_INT, name);
    for (int r = 0; r < others && at_root; r++)
        for (int i = 0; i < N; i++) bad += all[r * N + i] != given(!low, r, 0, i);
    CHECK(!bad, "gather, %s", form_names[form]);

    for (int r = 0; r < others && at_root; r++)
        for (int i = 0; i < N; i++) all[r * N + i] = given(low, root, r, i);
    for (int i = 0; i < N; i++) b[i] = -1;
    COLL(form, inter, Scatter, scatter, all, N, MPI_INT, b, N, MPI_INT, name);
    for (int i = 0; i < N && leaf; i++) bad += b[i] != given(from_low, root, own_rank, i);
    CHECK(!bad, "scatter, %s", form_names[form]);

    /* Rank r of the leaves has r % N + 1 elements, placed in reverse. */
    int *counts = malloc(others * sizeof(int)), *displs = malloc(others * sizeof(int));
    for (int r = 0; r < others; r++) counts[r] = r % N + 1, displs[r] = (others - 1 - r) * N;
    int n = own_rank % N + 1;
    for (int i = 0; i < N; i++) b[i] = given(low, own_rank, 7, i);
    COLL(form, inter, Gatherv, gatherv, b, n, MPI_INT, all, at_root ? counts : NULL, at_root ? displs : NULL, MPI_INT,
         name);
    for (int r = 0; r < others && at_root; r++)
        for (int i = 0; i < counts[r]; i++) bad += all[displs[r] + i] != given(!low, r, 7, i);
    CHECK(!bad, "gatherv, %s", form_names[form]);
    for (int i = 0; i < N; i++) b[i] = -1;
    COLL(form, inter, Scatterv, scatterv, all, at_root ? counts : NULL, at_root ? displs : NULL, MPI_INT, b, n, MPI_INT,
         name);
    for (int i = 0; i < n && leaf; i++) bad += b[i] != given(low, own_rank, 7, i);
    CHECK(!bad, "scatterv, %s", form_names[form]);

    for (int i = 0; i < N; i++) b[i] = own_rank + i;
    COLL(form, inter, Reduce, reduce, b, all, N, MPI_INT, MPI_SUM, name);
    for (int i = 0; i < N && at_root; i++) bad += all[i] != others * (others - 1) / 2 + others * i;
    CHECK(!bad, "reduce, %s", form_names[form]);
    free(all);
    free(counts);
    free(displs);
}

static void to_all(int form)
{
    int *out = malloc((size_t)size * size * N * sizeof(int)), *in = malloc((size_t)size * size * N * sizeof(int)), bad = 0;
    for (int i = 0; i < N; i++) out[i] = given(low, own_rank, 0, i);
    COLL(form, inter, Allgather, allgather, out, N, MPI_INT, in, N, MPI_INT);
    for (int r = 0; r < remote_size; r++)
        for (int i = 0; i < N; i++) bad += in[r * N + i] != given(!low, r, 0, i);
    CHECK(!bad, "allgather, %s", form_names[form]);

    int counts[64], displs[64], mine[64], places[64], bytes[64], mine_bytes[64];
    MPI_Datatype types[64];
    for (int r = 0; r < remote_size; r++) counts[r] = r % 3, displs[r] = r * N;
    COLL(form, inter, Allgatherv, allgatherv, out, own_rank % 3, MPI_INT, in, counts, displs, MPI_INT);
    for (int r = 0; r < remote_size; r++)
        for (int i = 0; i < counts[r]; i++) bad += in[r * N + i] != given(!low, r, 0, i);
    CHECK(!bad, "allgatherv, %s", form_names[form]);

    for (int r = 0; r < remote_size; r++)
        for (int i = 0; i < N; i++) out[r * N + i] = given(low, own_rank, r, i);
    COLL(form, inter, Alltoall, alltoall, out, N, MPI_INT, in, N, MPI_INT);
    for (int r = 0; r < remote_size; r++)
        for (int i = 0; i < N; i++) bad += in[r * N + i] != given(!low, r, own_rank, i);
    CHECK(!bad, "alltoall, %s", form_names[form]);

    for (int r = 0; r < remote_size; r++) {
        mine[r] = counts[r] = (r + own_rank) % 4;
        places[r] = displs[r] = r * N;
        mine_bytes[r] = bytes[r] = r * N * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    for (int w = 0; w < 2; w++) {
        for (int i = 0; i < remote_size * N; i++) in[i] = -1;
        if (w) COLL(form, inter, Alltoallw, alltoallw, out, mine, mine_bytes, types, in, counts, bytes, types);
        else COLL(form, inter, Alltoallv, alltoallv, out, mine, places, MPI_INT, in, counts, displs, MPI_INT);
        for (int r = 0; r < remote_size; r++)
            for (int i = 0; i < N; i++) bad += in[r * N + i] != (i < counts[r] ? given(!low, r, own_rank, i) : -1);
        CHECK(!bad, "alltoall%c, %s", w ? 'w' : 'v', form_names[form]);
    }

    for (int i = 0; i < N; i++) out[i] = own_rank + i;
    COLL(form, inter, Allreduce, allreduce, out, in, N, MPI_INT, MPI_SUM);
    for (int i = 0; i < N; i++) bad += in[i] != remote_size * (remote_size - 1) / 2 + remote_size * i;
    CHECK(!bad, "allreduce, %s", form_names[form]);

    /* Both groups reduce as many elements in all: a multiple of both sizes. */
    int total = own_size * remote_size;
    for (int i = 0; i < total; i++) out[i] = own_rank + i;
    COLL(form, inter, Reduce_scatter_block, reduce_scatter_block, out, in, remote_size, MPI_INT, MPI_SUM);
    for (int i = 0; i < remote_size; i++) {
        int at = own_rank * remote_size + i;
        bad += in[i] != remote_size * (remote_size - 1) / 2 + remote_size * at;
    }
    CHECK(!bad, "reduce_scatter_block, %s", form_names[form]);
    /* What follows the counts of the own group is not looked at. */
    for (int r = 0; r < 64; r++) counts[r] = r < own_size ? 0 : -1;
    counts[own_size - 1] = total;
    COLL(form, inter, Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM);
    for (int i = 0; i < counts[own_rank]; i++) bad += in[i] != remote_size * (remote_size - 1) / 2 + remote_size * i;
    CHECK(!bad, "reduce_scatter, %s", form_names[form]);
    free(out);
    free(in);
}

static void wrong(void)
{
    int a = 0, b[64];
    FAILS(MPI_ERR_COMM, MPI_Scan(&a, b, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_COMM, MPI_Exscan(&a, b, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&a, 1, MPI_INT, remote_size, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&a, 1, MPI_INT, MPI_ANY_SOURCE, inter));
    if (strict()) {
        FAILS(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, b, 1, MPI_INT, inter));
    }
    FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&a, 1, MPI_INT, b, 1, MPI_INT, inter));
}

int main(int argc, char **argv)
{
    MPI_Comm local;
    begin(&argc, &argv);
    low = rank < (size + 1) / 3 || rank == 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &local));
    OK(MPI_Comm_rank(local, &own_rank));
    OK(MPI_Comm_size(local, &own_size));
    remote_size = size - own_size;
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? size - remote_size : 0, 0, &inter));
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    for (int form = 0; form < FORMS; form++) {
        BARRIER(form, inter);
        rooted(form, 1, 0);
        rooted(form, 0, (low ? remote_size : own_size) - 1);
        to_all(form);
    }
    if (strict()) wrong();
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
    return finish();
}
