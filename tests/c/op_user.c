// ranks: 1 2 3 4 6
// Operations of the program's own: both forms, order of operands, datatypes of the call, lifetime.
#include "coll.h"

typedef struct { int a[2][2]; } Matrix;

/* inout = in * inout, which does not commute. */
static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    Matrix *x = in, *y = inout;
    MPI_Aint lb, extent;
    CHECK(MPI_Type_get_extent(*type, &lb, &extent) == MPI_SUCCESS && extent == sizeof(Matrix));
    for (int i = 0; i < *len; i++) {
        Matrix r;
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++)
                r.a[j][k] = (x[i].a[j][0] * y[i].a[0][k] + x[i].a[j][1] * y[i].a[1][k]) % 1009;
        y[i] = r;
    }
}

static void multiply_large(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    int n = *len;
    multiply(in, inout, &n, type);
}

static Matrix of_rank(int r, int i) { return (Matrix){{{1, r + i}, {r + 1, 2}}}; }

/* The product of the matrices of ranks 0 to last. */
static Matrix product(int last, int i)
{
    Matrix p = of_rank(last, i);
    for (int r = last - 1; r >= 0; r--) {
        Matrix m = of_rank(r, i);
        Matrix q;
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++)
                q.a[j][k] = (m.a[j][0] * p.a[0][k] + m.a[j][1] * p.a[1][k]) % 1009;
        p = q;
    }
    return p;
}

/* Modular arithmetic makes equal products differ by nothing: compare modulo 1009. */
static int same(Matrix x, Matrix y)
{
    for (int j = 0; j < 2; j++)
        for (int k = 0; k < 2; k++)
            if (x.a[j][k] % 1009 != y.a[j][k] % 1009) return 0;
    return 1;
}

static void ordered(MPI_Op op, MPI_Datatype type, int form, int n)
{
    Matrix *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *all;
    int bad = 0, root = size - 1;
    for (int i = 0; i < n; i++) a[i] = of_rank(rank, i);
    COLL(form, MPI_COMM_WORLD, Allreduce, allreduce, a, b, n, type, op);
    for (int i = 0; i < n; i++) bad += !same(b[i], product(size - 1, i));
    CHECK(!bad, "allreduce n %d, %s", n, form_names[form]);
    COLL(form, MPI_COMM_WORLD, Reduce, reduce, a, b, n, type, op, root);
    for (int i = 0; i < n && rank == root; i++) bad += !same(b[i], product(size - 1, i));
    CHECK(!bad, "reduce n %d, %s", n, form_names[form]);
    COLL(form, MPI_COMM_WORLD, Scan, scan, a, b, n, type, op);
    for (int i = 0; i < n; i++) bad += !same(b[i], product(rank, i));
    CHECK(!bad, "scan n %d, %s", n, form_names[form]);
    COLL(form, MPI_COMM_WORLD, Exscan, exscan, a, b, n, type, op);
    for (int i = 0; i < n && rank > 0; i++) bad += !same(b[i], product(rank - 1, i));
    CHECK(!bad, "exscan n %d, %s", n, form_names[form]);
    all = malloc((size_t)n * size * sizeof *all);
    for (int i = 0; i < n * size; i++) all[i] = of_rank(rank, i);
    COLL(form, MPI_COMM_WORLD, Reduce_scatter_block, reduce_scatter_block, all, b, n, type, op);
    for (int i = 0; i < n; i++) bad += !same(b[i], product(size - 1, rank * n + i));
    CHECK(!bad, "reduce_scatter_block n %d, %s", n, form_names[form]);
    free(a);
    free(b);
    free(all);
}

static int calls;

static void larger(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *x = in, *y = inout;
    CHECK(*type == MPI_INT);
    calls++;
    for (int i = 0; i < *len; i++)
        if (x[i] > y[i]) y[i] = x[i];
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Datatype matrix;
    MPI_Op op, large, commuting;
    int commute = -1;
    OK(MPI_Type_contiguous(4, MPI_INT, &matrix));
    OK(MPI_Type_commit(&matrix));
    OK(MPI_Op_create(multiply, 0, &op));
    OK(MPI_Op_create_c(multiply_large, 0, &large));
    OK(MPI_Op_create(larger, 1, &commuting));
    OK(MPI_Op_commutative(op, &commute));
    CHECK(commute == 0);
    OK(MPI_Op_commutative(commuting, &commute));
    CHECK(commute == 1);
    OK(MPI_Op_commutative(MPI_SUM, &commute));
    CHECK(commute == 1);
    for (int form = 0; form < FORMS; form++) {
        ordered(op, matrix, form, 1);
        ordered(large, matrix, form, 7);
        ordered(op, matrix, form, 3000);
    }
    int a[3] = {rank, -rank, 5}, b[3] = {-1, -1, -1};
    OK(MPI_Allreduce(a, b, 3, MPI_INT, commuting, MPI_COMM_WORLD));
    CHECK(b[0] == size - 1 && b[1] == 0 && b[2] == 5);
    int x[2] = {1, 9}, y[2] = {4, 4};
    calls = 0;
    OK(MPI_Reduce_local(x, y, 2, MPI_INT, commuting));
    CHECK(y[0] == 4 && y[1] == 9 && calls == 1);
    OK(MPI_Reduce_local_c(x, y, 2, MPI_INT, MPI_SUM));
    CHECK(y[0] == 5 && y[1] == 18);
    /* Operation and datatype are freed while the reduction uses them. */
    Matrix m = of_rank(rank, 0), r;
    MPI_Request request;
    OK(MPI_Iallreduce(&m, &r, 1, matrix, op, MPI_COMM_WORLD, &request));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&matrix));
    CHECK(op == MPI_OP_NULL);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(same(r, product(size - 1, 0)));
    OK(MPI_Op_free(&large));
    OK(MPI_Op_free(&commuting));
    return finish();
}
