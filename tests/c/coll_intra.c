// ranks: 1 2 3 4 7
// Every collective on an intracommunicator: all forms, several sizes, in place, large counts.
#include "coll.h"

static int *ints(size_t n)
{
    int *p = malloc((n ? n : 1) * sizeof(int));
    for (size_t i = 0; i < n; i++) p[i] = -1;
    return p;
}

/* Element i that rank r gives to rank t. */
static int given(int r, int t, int i) { return r * 1000003 + t * 1009 + i; }

static void broadcast(int form, int large, int n, int root)
{
    int *b = ints(n);
    for (int i = 0; i < n && rank == root; i++) b[i] = given(root, 0, i);
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Bcast, bcast, b, n, MPI_INT, root);
    else COLL(form, MPI_COMM_WORLD, Bcast, bcast, b, n, MPI_INT, root);
    for (int i = 0; i < n; i++)
        if (b[i] != given(root, 0, i)) { CHECK(0, "bcast n %d root %d at %d", n, root, i); break; }
    free(b);
}

static void gather_scatter(int form, int large, int n, int root)
{
    int *own = ints(n), *all = ints((size_t)n * size), bad = 0;
    for (int i = 0; i < n; i++) own[i] = given(rank, 0, i);
    /* What is not significant away from the root is nonsense there. */
    int *at_root = rank == root ? all : NULL;
    MPI_Datatype type = rank == root ? MPI_INT : MPI_DATATYPE_NULL;
    int count = rank == root ? n : -5;
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Gather, gather, own, n, MPI_INT, at_root, count, type, root);
    else COLL(form, MPI_COMM_WORLD, Gather, gather, own, n, MPI_INT, at_root, count, type, root);
    if (rank == root)
        for (int r = 0; r < size; r++)
            for (int i = 0; i < n; i++) bad += all[r * n + i] != given(r, 0, i);
    CHECK(!bad, "gather n %d root %d, %s", n, root, form_names[form]);

    for (int i = 0; i < n; i++) own[i] = -1;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n && rank == root; i++) all[r * n + i] = given(root, r, i);
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Scatter, scatter, at_root, count, type, own, n, MPI_INT, root);
    else COLL(form, MPI_COMM_WORLD, Scatter, scatter, at_root, count, type, own, n, MPI_INT, root);
    for (int i = 0; i < n; i++) bad += own[i] != given(root, rank, i);
    CHECK(!bad, "scatter n %d root %d, %s", n, root, form_names[form]);
    free(own);
    free(all);
}

static void gather_scatter_in_place(int form, int n, int root)
{
    int *own = ints(n), *all = ints((size_t)n * size), bad = 0;
    for (int i = 0; i < n; i++) own[i] = given(rank, 0, i);
    for (int i = 0; i < n && rank == root; i++) all[rank * n + i] = given(rank, 0, i);
    if (rank == root)
        COLL(form, MPI_COMM_WORLD, Gather, gather, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, n, MPI_INT, root);
    else
        COLL(form, MPI_COMM_WORLD, Gather, gather, own, n, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root);
    if (rank == root)
        for (int r = 0; r < size; r++)
            for (int i = 0; i < n; i++) bad += all[r * n + i] != given(r, 0, i);
    CHECK(!bad, "gather in place n %d", n);
    if (rank == root)
        COLL(form, MPI_COMM_WORLD, Scatter, scatter, all, n, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root);
    else
        COLL(form, MPI_COMM_WORLD, Scatter, scatter, NULL, 0, MPI_DATATYPE_NULL, own, n, MPI_INT, root);
    for (int i = 0; i < n; i++) bad += own[i] != given(rank, 0, i);
    CHECK(!bad, "scatter in place n %d", n);
    free(own);
    free(all);
}

static void allgather_alltoall(int form, int large, int n)
{
    int *out = ints((size_t)n * size), *in = ints((size_t)n * size), bad = 0;
    for (int i = 0; i < n; i++) out[i] = given(rank, 0, i);
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Allgather, allgather, out, n, MPI_INT, in, n, MPI_INT);
    else COLL(form, MPI_COMM_WORLD, Allgather, allgather, out, n, MPI_INT, in, n, MPI_INT);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++) bad += in[r * n + i] != given(r, 0, i);
    CHECK(!bad, "allgather n %d, %s", n, form_names[form]);
    for (int i = 0; i < n * size; i++) in[i] = i / (n ? n : 1) == rank ? given(rank, 5, i % n) : -1;
    COLL(form, MPI_COMM_WORLD, Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, n, MPI_INT);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++) bad += in[r * n + i] != given(r, 5, i);
    CHECK(!bad, "allgather in place n %d, %s", n, form_names[form]);

    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++) out[r * n + i] = given(rank, r, i);
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Alltoall, alltoall, out, n, MPI_INT, in, n, MPI_INT);
    else COLL(form, MPI_COMM_WORLD, Alltoall, alltoall, out, n, MPI_INT, in, n, MPI_INT);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++) bad += in[r * n + i] != given(r, rank, i);
    CHECK(!bad, "alltoall n %d, %s", n, form_names[form]);
    if (form != TWICE) {
        COLL(form, MPI_COMM_WORLD, Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT);
        for (int r = 0; r < size; r++)
            for (int i = 0; i < n; i++) bad += out[r * n + i] != given(r, rank, i);
        CHECK(!bad, "alltoall in place n %d, %s", n, form_names[form]);
    }
    free(out);
    free(in);
}

/* Sums over all ranks: element i of rank r is r + i. */
static long total(int ranks, int i) { return (long)ranks * (ranks - 1) / 2 + (long)ranks * i; }

static void reductions(int form, int large, int n, int root)
{
    int *a = ints(n), *b = ints(n), bad = 0;
    for (int i = 0; i < n; i++) a[i] = rank + i;
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Allreduce, allreduce, a, b, n, MPI_INT, MPI_SUM);
    else COLL(form, MPI_COMM_WORLD, Allreduce, allreduce, a, b, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; i++) bad += b[i] != total(size, i), b[i] = -1;
    CHECK(!bad, "allreduce n %d, %s", n, form_names[form]);
    int *at_root = rank == root ? b : NULL;
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Reduce, reduce, a, at_root, n, MPI_INT, MPI_SUM, root);
    else COLL(form, MPI_COMM_WORLD, Reduce, reduce, a, at_root, n, MPI_INT, MPI_SUM, root);
    for (int i = 0; i < n && rank == root; i++) bad += b[i] != total(size, i);
    CHECK(!bad, "reduce n %d root %d, %s", n, root, form_names[form]);
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Scan, scan, a, b, n, MPI_INT, MPI_SUM);
    else COLL(form, MPI_COMM_WORLD, Scan, scan, a, b, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; i++) bad += b[i] != total(rank + 1, i), b[i] = -1;
    CHECK(!bad, "scan n %d, %s", n, form_names[form]);
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Exscan, exscan, a, b, n, MPI_INT, MPI_SUM);
    else COLL(form, MPI_COMM_WORLD, Exscan, exscan, a, b, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n && rank > 0; i++) bad += b[i] != total(rank, i);
    CHECK(!bad, "exscan n %d, %s", n, form_names[form]);
    if (form == TWICE) {
        free(a);
        free(b);
        return;
    }
    /* In place. */
    COLL(form, MPI_COMM_WORLD, Allreduce, allreduce, MPI_IN_PLACE, a, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; i++) bad += a[i] != total(size, i), a[i] = rank + i;
    CHECK(!bad, "allreduce in place n %d, %s", n, form_names[form]);
    COLL(form, MPI_COMM_WORLD, Reduce, reduce, rank == root ? MPI_IN_PLACE : a, rank == root ? a : NULL, n, MPI_INT,
         MPI_SUM, root);
    for (int i = 0; i < n; i++) bad += rank == root && a[i] != total(size, i), a[i] = rank + i;
    CHECK(!bad, "reduce in place n %d, %s", n, form_names[form]);
    COLL(form, MPI_COMM_WORLD, Scan, scan, MPI_IN_PLACE, a, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; i++) bad += a[i] != total(rank + 1, i), a[i] = rank + i;
    CHECK(!bad, "scan in place n %d, %s", n, form_names[form]);
    COLL(form, MPI_COMM_WORLD, Exscan, exscan, MPI_IN_PLACE, a, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n && rank > 0; i++) bad += a[i] != total(rank, i);
    CHECK(!bad, "exscan in place n %d, %s", n, form_names[form]);
    free(a);
    free(b);
}

static void reduce_scatters(int form, int large, int n)
{
    int *a = ints((size_t)n * size), *b = ints(n), bad = 0;
    for (int i = 0; i < n * size; i++) a[i] = rank + i;
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Reduce_scatter_block, reduce_scatter_block, a, b, n, MPI_INT, MPI_SUM);
    else COLL(form, MPI_COMM_WORLD, Reduce_scatter_block, reduce_scatter_block, a, b, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; i++) bad += b[i] != total(size, rank * n + i);
    CHECK(!bad, "reduce_scatter_block n %d, %s", n, form_names[form]);
    if (form != TWICE) {
        COLL(form, MPI_COMM_WORLD, Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, a, n, MPI_INT, MPI_SUM);
        for (int i = 0; i < n; i++) bad += a[i] != total(size, rank * n + i);
        CHECK(!bad, "reduce_scatter_block in place n %d, %s", n, form_names[form]);
    }
    free(a);
    free(b);

    /* Block r has n + r elements, but block 1 none. */
    int *counts = ints(size), before = 0, whole = 0;
    MPI_Count *large_counts = malloc(size * sizeof *large_counts);
    for (int r = 0; r < size; r++) {
        large_counts[r] = counts[r] = r == 1 ? 0 : n + r;
        whole += counts[r];
        if (r < rank) before += counts[r];
    }
    a = ints(whole);
    b = ints(counts[rank]);
    for (int i = 0; i < whole; i++) a[i] = rank + i;
    if (large) COLL_LARGE(form, MPI_COMM_WORLD, Reduce_scatter, reduce_scatter, a, b, large_counts, MPI_INT, MPI_SUM);
    else COLL(form, MPI_COMM_WORLD, Reduce_scatter, reduce_scatter, a, b, counts, MPI_INT, MPI_SUM);
    for (int i = 0; i < counts[rank]; i++) bad += b[i] != total(size, before + i);
    CHECK(!bad, "reduce_scatter n %d, %s", n, form_names[form]);
    if (form != TWICE) {
        COLL(form, MPI_COMM_WORLD, Reduce_scatter, reduce_scatter, MPI_IN_PLACE, a, counts, MPI_INT, MPI_SUM);
        for (int i = 0; i < counts[rank]; i++) bad += a[i] != total(size, before + i);
        CHECK(!bad, "reduce_scatter in place n %d, %s", n, form_names[form]);
    }
    free(a);
    free(b);
    free(counts);
    free(large_counts);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int sizes[] = {0, 1, 3, 100, 5000, 40000};
    for (int form = 0; form < FORMS; form++) {
        BARRIER(form, MPI_COMM_WORLD);
        for (int s = 0; s < 6; s++) {
            int n = sizes[s], root = s % size, large = s % 2;
            broadcast(form, large, n, root);
            gather_scatter(form, large, n, root);
            if (form != TWICE) gather_scatter_in_place(form, n, size - 1);
            allgather_alltoall(form, large, n);
            reductions(form, large, n, root);
            reduce_scatters(form, large, n);
        }
    }
    return finish();
}
