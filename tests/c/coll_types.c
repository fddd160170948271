// ranks: 1 2 3 5
// Collectives between different datatypes of the same signature, and types with gaps and odd bounds.
#include "coll.h"

enum { N = 40 };

static MPI_Datatype column, odd;

static int given(int r, int t, int i) { return r * 10000 + t * 100 + i; }

/* Sends a column of a matrix of two columns, receives it as a row, and the other way round. */
static void exchanges(int form)
{
    int matrix[N][2], back[64][N][2], rows[64][N], bad = 0;
    memset(back, -1, sizeof back);
    for (int i = 0; i < N; i++) matrix[i][0] = given(rank, 0, i), matrix[i][1] = -5;
    COLL(form, MPI_COMM_WORLD, Allgather, allgather, matrix, 1, column, rows, N, MPI_INT);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N; i++) bad += rows[r][i] != given(r, 0, i);
    CHECK(!bad, "allgather, column to row, %s", form_names[form]);
    /* Columns end with the last element that they have: the next one starts right after it. */
    int *flat = &back[0][0][0];
    COLL(form, MPI_COMM_WORLD, Allgather, allgather, rows[rank], N, MPI_INT, flat, 1, column);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N; i++) bad += flat[r * (2 * N - 1) + 2 * i] != given(r, 0, i);
    CHECK(!bad, "allgather, row to column, %s", form_names[form]);
    COLL(form, MPI_COMM_WORLD, Bcast, bcast, rank % 2 ? (void *)rows : (void *)matrix, rank % 2 ? N : 1,
         rank % 2 ? MPI_INT : column, 0);
    for (int i = 0; i < N; i++) {
        int got = rank % 2 ? rows[0][i] : matrix[i][0];
        bad += got != given(0, 0, i) || matrix[i][1] != -5;
    }
    CHECK(!bad, "bcast, %s", form_names[form]);
    for (int i = 0; i < N; i++) matrix[i][0] = given(rank, 3, i);
    int root = size - 1;
    COLL(form, MPI_COMM_WORLD, Gather, gather, matrix, 1, column, rows, N, MPI_INT, root);
    for (int r = 0; r < size && rank == root; r++)
        for (int i = 0; i < N; i++) bad += rows[r][i] != given(r, 3, i);
    CHECK(!bad, "gather, %s", form_names[form]);
    for (int i = 0; i < N; i++) matrix[i][0] = -1;
    COLL(form, MPI_COMM_WORLD, Scatter, scatter, rows, N, MPI_INT, matrix, 1, column, root);
    for (int i = 0; i < N; i++) bad += matrix[i][0] != given(rank, 3, i) || matrix[i][1] != -5;
    CHECK(!bad, "scatter, %s", form_names[form]);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N; i++) rows[r][i] = given(rank, r, i);
    memset(back, -1, sizeof back);
    COLL(form, MPI_COMM_WORLD, Alltoall, alltoall, rows, N, MPI_INT, flat, 1, column);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N; i++) bad += flat[r * (2 * N - 1) + 2 * i] != given(r, rank, i);
    CHECK(!bad, "alltoall, %s", form_names[form]);
}

/* Elements of `odd`: ints at bytes -8 and 4 of a place of 16 bytes. */
static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    CHECK(MPI_Type_get_extent(*type, &lb, &extent) == MPI_SUCCESS && lb == -12 && extent == 16);
    for (int i = 0; i < *len; i++) {
        int *x = (int *)((char *)in + 16 * i), *y = (int *)((char *)inout + 16 * i);
        y[-2] += x[-2];
        y[1] += x[1];
    }
}

static void clear(int *p, int n)
{
    for (int i = 0; i < n; i++) p[i] = -9;
}

static void reductions(int form, int n)
{
    MPI_Op op;
    int sum = size * (size + 1) / 2, below = rank * (rank + 1) / 2;
    int words = 4 * n * size + 8;
    int *a = malloc(words * sizeof *a), *b = malloc(words * sizeof *b);
    OK(MPI_Op_create(add, 1, &op));
    /* Element e is at word 3 + 4e: its data are the words 1 + 4e and 4 + 4e. */
    clear(a, words);
    for (int e = 0; e < n * size; e++) {
        a[1 + 4 * e] = (rank + 1) * 100 * (e + 1);
        a[4 + 4 * e] = (rank + 1) * (e + 1);
    }
#define CHECK_ODD(count, factor, what) \
    do { \
        int wrong_ = 0; \
        for (int e_ = 0; e_ < (count); e_++) { \
            wrong_ += b[1 + 4 * e_] != (factor) * 100 * (e_ + 1) || b[4 + 4 * e_] != (factor) * (e_ + 1); \
            wrong_ += b[2 + 4 * e_] != -9 || b[3 + 4 * e_] != -9; \
        } \
        wrong_ += b[0] != -9 || b[1 + 4 * (count)] != -9; \
        CHECK(!wrong_, "%s of %d, %s: %d wrong", what, count, form_names[form], wrong_); \
    } while (0)
    clear(b, words);
    COLL(form, MPI_COMM_WORLD, Allreduce, allreduce, a + 3, b + 3, n, odd, op);
    CHECK_ODD(n, sum, "allreduce");
    clear(b, words);
    COLL(form, MPI_COMM_WORLD, Reduce, reduce, a + 3, b + 3, n, odd, op, 0);
    if (rank == 0) CHECK_ODD(n, sum, "reduce");
    clear(b, words);
    COLL(form, MPI_COMM_WORLD, Scan, scan, a + 3, b + 3, n, odd, op);
    CHECK_ODD(n, below + rank + 1, "scan");
    clear(b, words);
    COLL(form, MPI_COMM_WORLD, Exscan, exscan, a + 3, b + 3, n, odd, op);
    if (rank > 0) CHECK_ODD(n, below, "exscan");
    for (int e = 0; e < n * size; e++) {
        a[1 + 4 * e] = (rank + 1) * 100 * (e % n + 1);
        a[4 + 4 * e] = (rank + 1) * (e % n + 1);
    }
    clear(b, words);
    COLL(form, MPI_COMM_WORLD, Reduce_scatter_block, reduce_scatter_block, a + 3, b + 3, n, odd, op);
    CHECK_ODD(n, sum, "reduce_scatter_block");
    OK(MPI_Op_free(&op));
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    MPI_Datatype parts;
    begin(&argc, &argv);
    OK(MPI_Type_vector(N, 1, 2, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-8, 4}, MPI_INT, &parts));
    OK(MPI_Type_create_resized(parts, -12, 16, &odd));
    OK(MPI_Type_commit(&odd));
    for (int form = 0; form < FORMS; form++) {
        exchanges(form);
        reductions(form, 1);
        reductions(form, 9);
        reductions(form, 3000);
    }
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&parts));
    OK(MPI_Type_free(&odd));
    return finish();
}
