// ranks: 1
// Every constructor: where the data lies, how the type describes itself, which arguments it refuses.
#include "check.h"

/* Packs one element of `type` from an array of ints 0, 1, 2, ... and checks which it took. */
static void takes(MPI_Datatype type, int first, int n, const int *wanted, int line)
{
    int memory[200], out[200], position = 0, bytes = -1;
    for (int i = 0; i < 200; i++) memory[i] = i;
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_size(type, &bytes));
    CHECK(bytes == n * (int)sizeof(int), "line %d: %d bytes", line, bytes);
    OK(MPI_Pack(memory + first, 1, type, out, sizeof out, &position, MPI_COMM_SELF));
    CHECK(position == n * (int)sizeof(int), "line %d: packed %d", line, position);
    for (int i = 0; i < n; i++) CHECK(out[i] == wanted[i], "line %d: element %d is %d", line, i, out[i]);
    int back[200];
    memset(back, -1, sizeof back);
    position = 0;
    OK(MPI_Unpack(out, n * sizeof(int), &position, back + first, 1, type, MPI_COMM_SELF));
    for (int i = 0; i < n; i++) CHECK(back[wanted[i]] == wanted[i], "line %d: unpacked %d", line, wanted[i]);
}
#define TAKES(type, first, ...) \
    takes(type, first, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__}, __LINE__)

/* Checks envelope and contents, both of the int and the large-count form. */
static void describes(MPI_Datatype type, int combiner, int ni, const int *ints, int na, const MPI_Aint *aints, int nl,
                      const MPI_Count *larges, int nd, int line)
{
    int i1 = -1, a1 = -1, d1 = -1, c = -1;
    MPI_Count i2 = -1, a2 = -1, l2 = -1, d2 = -1;
    if (nl == 0) {
        OK(MPI_Type_get_envelope(type, &i1, &a1, &d1, &c));
        CHECK(i1 == ni && a1 == na && d1 == nd && c == combiner, "line %d: %d %d %d %d", line, i1, a1, d1, c);
    } else {
        FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope(type, &i1, &a1, &d1, &c));
        int no_ints[20];
        MPI_Aint no_aints[20];
        MPI_Datatype no_types[20];
        FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(type, 20, 20, 20, no_ints, no_aints, no_types));
    }
    OK(MPI_Type_get_envelope_c(type, &i2, &a2, &l2, &d2, &c));
    CHECK(i2 == ni && a2 == na && l2 == nl && d2 == nd && c == combiner, "line %d: %d %d %d %d, %d", line, (int)i2, (int)a2,
          (int)l2, (int)d2, c);
    int got_ints[50];
    MPI_Aint got_aints[50];
    MPI_Count got_larges[50];
    MPI_Datatype got_types[50];
    for (int large = nl ? 1 : 0; large < 2; large++) {
        memset(got_ints, -1, sizeof got_ints);
        if (large)
            OK(MPI_Type_get_contents_c(type, ni, na, nl, nd, got_ints, got_aints, got_larges, got_types));
        else
            OK(MPI_Type_get_contents(type, ni, na, nd, got_ints, got_aints, got_types));
        for (int i = 0; i < ni; i++) CHECK(got_ints[i] == ints[i], "line %d: int %d is %d", line, i, got_ints[i]);
        for (int i = 0; i < na; i++) CHECK(got_aints[i] == aints[i], "line %d: address %d", line, i);
        for (int i = 0; i < nl; i++) CHECK(got_larges[i] == larges[i], "line %d: count %d", line, i);
        for (int i = 0; i < nd; i++) CHECK(got_types[i] == MPI_INT, "line %d: type %d", line, i);
    }
    if (ni > 0) CHECK(MPI_Type_get_contents_c(type, ni - 1, na, nl, nd, got_ints, got_aints, got_larges, got_types));
}
#define LIST(type, ...) sizeof((type[]){__VA_ARGS__}) / sizeof(type), (type[]){__VA_ARGS__}
#define NONE 0, NULL
#define DESCRIBES(type, combiner, ...) describes(type, combiner, __VA_ARGS__, __LINE__)

static void simple(void)
{
    MPI_Datatype t;
    OK(MPI_Type_contiguous(3, MPI_INT, &t));
    TAKES(t, 5, 5, 6, 7);
    DESCRIBES(t, MPI_COMBINER_CONTIGUOUS, LIST(int, 3), NONE, NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_contiguous_c(3, MPI_INT, &t));
    TAKES(t, 5, 5, 6, 7);
    DESCRIBES(t, MPI_COMBINER_CONTIGUOUS, NONE, NONE, LIST(MPI_Count, 3), 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_vector(2, 2, 5, MPI_INT, &t));
    TAKES(t, 1, 1, 2, 6, 7);
    DESCRIBES(t, MPI_COMBINER_VECTOR, LIST(int, 2, 2, 5), NONE, NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_vector_c(3, 1, -2, MPI_INT, &t));
    TAKES(t, 10, 10, 8, 6);
    DESCRIBES(t, MPI_COMBINER_VECTOR, NONE, NONE, LIST(MPI_Count, 3, 1, -2), 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hvector(2, 1, 12, MPI_INT, &t));
    TAKES(t, 0, 0, 3);
    DESCRIBES(t, MPI_COMBINER_HVECTOR, LIST(int, 2, 1), LIST(MPI_Aint, 12), NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hvector_c(2, 1, 12, MPI_INT, &t));
    TAKES(t, 0, 0, 3);
    DESCRIBES(t, MPI_COMBINER_HVECTOR, NONE, NONE, LIST(MPI_Count, 2, 1, 12), 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_resized(MPI_INT, -4, 12, &t));
    TAKES(t, 3, 3);
    DESCRIBES(t, MPI_COMBINER_RESIZED, NONE, LIST(MPI_Aint, -4, 12), NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_resized_c(MPI_INT, -4, 12, &t));
    DESCRIBES(t, MPI_COMBINER_RESIZED, NONE, NONE, LIST(MPI_Count, -4, 12), 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_dup(MPI_INT, &t));
    TAKES(t, 3, 3);
    DESCRIBES(t, MPI_COMBINER_DUP, NONE, NONE, NONE, 1);
    OK(MPI_Type_free(&t));
    /* Nothing at all. */
    OK(MPI_Type_contiguous(0, MPI_INT, &t));
    int bytes = -1;
    OK(MPI_Type_size(t, &bytes));
    CHECK(bytes == 0);
    OK(MPI_Type_free(&t));
}

static void indexed(void)
{
    MPI_Datatype t;
    OK(MPI_Type_indexed(3, (int[]){2, 0, 1}, (int[]){4, 9, 1}, MPI_INT, &t));
    TAKES(t, 0, 4, 5, 1);
    DESCRIBES(t, MPI_COMBINER_INDEXED, LIST(int, 3, 2, 0, 1, 4, 9, 1), NONE, NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_indexed_c(2, (MPI_Count[]){2, 1}, (MPI_Count[]){4, 1}, MPI_INT, &t));
    TAKES(t, 0, 4, 5, 1);
    DESCRIBES(t, MPI_COMBINER_INDEXED, NONE, NONE, LIST(MPI_Count, 2, 2, 1, 4, 1), 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hindexed(2, (int[]){2, 1}, (MPI_Aint[]){16, 4}, MPI_INT, &t));
    TAKES(t, 0, 4, 5, 1);
    DESCRIBES(t, MPI_COMBINER_HINDEXED, LIST(int, 2, 2, 1), LIST(MPI_Aint, 16, 4), NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hindexed_c(2, (MPI_Count[]){2, 1}, (MPI_Count[]){16, 4}, MPI_INT, &t));
    TAKES(t, 0, 4, 5, 1);
    DESCRIBES(t, MPI_COMBINER_HINDEXED, NONE, NONE, LIST(MPI_Count, 2, 2, 1, 16, 4), 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_indexed_block(3, 2, (int[]){6, 0, 3}, MPI_INT, &t));
    TAKES(t, 0, 6, 7, 0, 1, 3, 4);
    DESCRIBES(t, MPI_COMBINER_INDEXED_BLOCK, LIST(int, 3, 2, 6, 0, 3), NONE, NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_indexed_block_c(2, 1, (MPI_Count[]){6, 0}, MPI_INT, &t));
    TAKES(t, 0, 6, 0);
    DESCRIBES(t, MPI_COMBINER_INDEXED_BLOCK, NONE, NONE, LIST(MPI_Count, 2, 1, 6, 0), 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hindexed_block(2, 1, (MPI_Aint[]){24, 0}, MPI_INT, &t));
    TAKES(t, 0, 6, 0);
    DESCRIBES(t, MPI_COMBINER_HINDEXED_BLOCK, LIST(int, 2, 1), LIST(MPI_Aint, 24, 0), NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hindexed_block_c(2, 1, (MPI_Count[]){24, 0}, MPI_INT, &t));
    TAKES(t, 0, 6, 0);
    DESCRIBES(t, MPI_COMBINER_HINDEXED_BLOCK, NONE, NONE, LIST(MPI_Count, 2, 1, 24, 0), 1);
    OK(MPI_Type_free(&t));
    MPI_Datatype children[] = {MPI_INT, MPI_INT};
    OK(MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){8, 0}, children, &t));
    TAKES(t, 0, 2, 0, 1);
    DESCRIBES(t, MPI_COMBINER_STRUCT, LIST(int, 2, 1, 2), LIST(MPI_Aint, 8, 0), NONE, 2);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_struct_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){8, 0}, children, &t));
    TAKES(t, 0, 2, 0, 1);
    DESCRIBES(t, MPI_COMBINER_STRUCT, NONE, NONE, LIST(MPI_Count, 2, 1, 2, 8, 0), 2);
    OK(MPI_Type_free(&t));
}

static void arrays(void)
{
    MPI_Datatype t;
    MPI_Aint lb, extent;
    /* Rows 1..2, columns 2..3 of an array of 4 x 5. */
    OK(MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 2}, (int[]){1, 2}, MPI_ORDER_C, MPI_INT, &t));
    TAKES(t, 0, 7, 8, 12, 13);
    DESCRIBES(t, MPI_COMBINER_SUBARRAY, LIST(int, 2, 4, 5, 2, 2, 1, 2, MPI_ORDER_C), NONE, NONE, 1);
    OK(MPI_Type_get_extent(t, &lb, &extent));
    CHECK(lb == 0 && extent == 20 * sizeof(int));
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_subarray_c(2, (MPI_Count[]){4, 5}, (MPI_Count[]){2, 2}, (MPI_Count[]){1, 2}, MPI_ORDER_FORTRAN,
                                  MPI_INT, &t));
    TAKES(t, 0, 9, 10, 13, 14);
    DESCRIBES(t, MPI_COMBINER_SUBARRAY, LIST(int, 2, MPI_ORDER_FORTRAN), NONE, LIST(MPI_Count, 4, 5, 2, 2, 1, 2), 1);
    OK(MPI_Type_free(&t));
    /* Process 1 of 2 x 2 has the right columns: rows cyclic, columns in blocks. */
    int distribs[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 2};
    OK(MPI_Type_create_darray(4, 1, 2, (int[]){3, 4}, distribs, dargs, grid, MPI_ORDER_C, MPI_INT, &t));
    TAKES(t, 0, 2, 3, 10, 11);
    DESCRIBES(t, MPI_COMBINER_DARRAY,
              LIST(int, 4, 1, 2, 3, 4, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG,
                   MPI_DISTRIBUTE_DFLT_DARG, 2, 2, MPI_ORDER_C),
              NONE, NONE, 1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_darray_c(4, 1, 2, (MPI_Count[]){3, 4}, distribs, dargs, grid, MPI_ORDER_C, MPI_INT, &t));
    DESCRIBES(t, MPI_COMBINER_DARRAY,
              LIST(int, 4, 1, 2, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG,
                   MPI_DISTRIBUTE_DFLT_DARG, 2, 2, MPI_ORDER_C),
              NONE, LIST(MPI_Count, 3, 4), 1);
    OK(MPI_Type_free(&t));
}

static void nested(void)
{
    MPI_Datatype pair, t, child;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pair));
    OK(MPI_Type_contiguous(2, pair, &t));
    OK(MPI_Type_free(&pair));
    /* The child lives on in its parent. */
    TAKES(t, 0, 0, 2, 3, 5);
    int n;
    OK(MPI_Type_get_contents(t, 1, 0, 1, &n, NULL, &child));
    CHECK(n == 2 && child != MPI_DATATYPE_NULL);
    int ni, na, nd, combiner;
    OK(MPI_Type_get_envelope(child, &ni, &na, &nd, &combiner));
    CHECK(combiner == MPI_COMBINER_VECTOR && ni == 3);
    OK(MPI_Type_free(&t));
    TAKES(child, 0, 0, 2);
    OK(MPI_Type_free(&child));
}

static void wrong(void)
{
    MPI_Datatype t = MPI_DATATYPE_NULL, null = MPI_DATATYPE_NULL;
    FAILS(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &t));
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t));
    FAILS(MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL));
    FAILS(MPI_ERR_COUNT, MPI_Type_vector(-1, 1, 1, MPI_INT, &t));
    FAILS(MPI_ERR_COUNT, MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &t));
    FAILS(MPI_ERR_COUNT, MPI_Type_indexed(-1, (int[]){1}, (int[]){0}, MPI_INT, &t));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){0}, &null, &t));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_resized(MPI_DATATYPE_NULL, 0, 1, &t));
    FAILS(MPI_ERR_TYPE, MPI_Type_dup(MPI_DATATYPE_NULL, &t));
    FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, (int[]){4}, (int[]){3}, (int[]){1}, 5, MPI_INT, &t));
    if (strict()) {
        FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, (int[]){4}, (int[]){3}, (int[]){2}, MPI_ORDER_C, MPI_INT, &t));
        FAILS(MPI_ERR_COUNT, MPI_Type_vector(1, -1, 1, MPI_INT, &t));
        FAILS(MPI_ERR_COUNT, MPI_Type_indexed(1, (int[]){-1}, (int[]){0}, MPI_INT, &t));
        FAILS(MPI_ERR_COUNT, MPI_Type_create_struct(1, (int[]){-1}, (MPI_Aint[]){0}, (MPI_Datatype[]){MPI_INT}, &t));
        FAILS(MPI_ERR_ARG, MPI_Type_indexed(1, NULL, (int[]){0}, MPI_INT, &t));
        int bad[] = {5}, none[] = {MPI_DISTRIBUTE_BLOCK}, dflt[] = {MPI_DISTRIBUTE_DFLT_DARG}, one[] = {1};
        FAILS(MPI_ERR_ARG, MPI_Type_create_darray(1, 0, 1, (int[]){4}, bad, dflt, one, MPI_ORDER_C, MPI_INT, &t));
        FAILS(MPI_ERR_ARG, MPI_Type_create_darray(1, 1, 1, (int[]){4}, none, dflt, one, MPI_ORDER_C, MPI_INT, &t));
        FAILS(MPI_ERR_ARG, MPI_Type_create_darray(2, 0, 1, (int[]){4}, none, dflt, one, MPI_ORDER_C, MPI_INT, &t));
    }
    CHECK(t == MPI_DATATYPE_NULL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    simple();
    indexed();
    arrays();
    nested();
    wrong();
    return finish();
}
