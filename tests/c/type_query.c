// ranks: 1
// Predefined datatypes and questions about datatypes, with right and with wrong arguments.
#include "check.h"
#include <stddef.h>
#include <wchar.h>

static void predefined(void)
{
    struct { char c; double d; } pad;
    struct { double v; int i; } di;
    struct { long v; int i; } li;
    struct { short v; int i; } si;
    const struct { MPI_Datatype type; const char *name; int size; MPI_Aint extent; } known[] = {
        {MPI_CHAR, "MPI_CHAR", 1, 1}, {MPI_SHORT, "MPI_SHORT", sizeof(short), sizeof(short)},
        {MPI_INT, "MPI_INT", sizeof(int), sizeof(int)}, {MPI_LONG, "MPI_LONG", sizeof(long), sizeof(long)},
        {MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG", 8, 8}, {MPI_FLOAT, "MPI_FLOAT", 4, 4},
        {MPI_DOUBLE, "MPI_DOUBLE", 8, 8}, {MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", sizeof(long double), sizeof(long double)},
        {MPI_WCHAR, "MPI_WCHAR", sizeof(wchar_t), sizeof(wchar_t)}, {MPI_C_BOOL, "MPI_C_BOOL", sizeof(_Bool), sizeof(_Bool)},
        {MPI_INT8_T, "MPI_INT8_T", 1, 1}, {MPI_UINT64_T, "MPI_UINT64_T", 8, 8}, {MPI_BYTE, "MPI_BYTE", 1, 1},
        {MPI_PACKED, "MPI_PACKED", 1, 1}, {MPI_AINT, "MPI_AINT", sizeof(MPI_Aint), sizeof(MPI_Aint)},
        {MPI_COUNT, "MPI_COUNT", sizeof(MPI_Count), sizeof(MPI_Count)},
        {MPI_OFFSET, "MPI_OFFSET", sizeof(MPI_Offset), sizeof(MPI_Offset)},
        {MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", 16, 16},
        {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", 12, sizeof di}, {MPI_LONG_INT, "MPI_LONG_INT", 12, sizeof li},
        {MPI_SHORT_INT, "MPI_SHORT_INT", 6, sizeof si}, {MPI_2INT, "MPI_2INT", 8, 8},
        {MPI_FLOAT_INT, "MPI_FLOAT_INT", 8, 8}, {MPI_INTEGER, "MPI_INTEGER", 4, 4}, {MPI_REAL, "MPI_REAL", 4, 4},
        {MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION", 8, 8}, {MPI_LOGICAL, "MPI_LOGICAL", 4, 4},
        {MPI_CHARACTER, "MPI_CHARACTER", 1, 1}, {MPI_COMPLEX, "MPI_COMPLEX", 8, 8},
        {MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", 16, 16}, {MPI_INTEGER1, "MPI_INTEGER1", 1, 1},
        {MPI_INTEGER8, "MPI_INTEGER8", 8, 8}, {MPI_REAL8, "MPI_REAL8", 8, 8}, {MPI_COMPLEX16, "MPI_COMPLEX16", 16, 16},
        {MPI_2REAL, "MPI_2REAL", 8, 8}, {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", 16, 16},
    };
    (void)pad;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int bytes = -1, length = -1, ni, na, nd, combiner = -1;
        MPI_Count large = -1, x = -1, lbx = -1;
        MPI_Aint lb = -1, extent = -1;
        char name[MPI_MAX_OBJECT_NAME];
        OK(MPI_Type_size(known[i].type, &bytes));
        OK(MPI_Type_size_c(known[i].type, &large));
        OK(MPI_Type_size_x(known[i].type, &x));
        CHECK(bytes == known[i].size && large == bytes && x == bytes, "%s: %d", known[i].name, bytes);
        OK(MPI_Type_get_extent(known[i].type, &lb, &extent));
        CHECK(lb == 0 && extent == known[i].extent, "%s: %ld", known[i].name, (long)extent);
        OK(MPI_Type_get_extent_x(known[i].type, &lbx, &x));
        CHECK(lbx == 0 && x == known[i].extent);
        OK(MPI_Type_get_name(known[i].type, name, &length));
        CHECK(!strcmp(name, known[i].name) && length == (int)strlen(name), "%s", name);
        OK(MPI_Type_get_envelope(known[i].type, &ni, &na, &nd, &combiner));
        CHECK(ni == 0 && na == 0 && nd == 0 && combiner == MPI_COMBINER_NAMED);
        FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(known[i].type, 0, 0, 0, NULL, NULL, NULL));
        MPI_Datatype copy = known[i].type;
        OK(MPI_Type_commit(&copy));
        FAILS(MPI_ERR_TYPE, MPI_Type_free(&copy));
        CHECK(copy == known[i].type);
    }
}

static void bounds(void)
{
    MPI_Datatype t, resized;
    MPI_Aint lb, extent;
    MPI_Count lbc, extentc;
    /* Ints at -8 and 12. */
    OK(MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){12, -8}, MPI_INT, &t));
    OK(MPI_Type_get_extent(t, &lb, &extent));
    CHECK(lb == -8 && extent == 24);
    OK(MPI_Type_create_resized(t, 4, 100, &resized));
    OK(MPI_Type_get_extent_c(resized, &lbc, &extentc));
    CHECK(lbc == 4 && extentc == 100);
    OK(MPI_Type_get_true_extent(resized, &lb, &extent));
    CHECK(lb == -8 && extent == 24);
    OK(MPI_Type_get_true_extent_c(resized, &lbc, &extentc));
    CHECK(lbc == -8 && extentc == 24);
    OK(MPI_Type_get_true_extent_x(resized, &lbc, &extentc));
    CHECK(lbc == -8 && extentc == 24);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_free(&resized));
    CHECK(t == MPI_DATATYPE_NULL && resized == MPI_DATATYPE_NULL);
    /* A size that an int cannot hold. */
    int bytes = 0;
    MPI_Count large = 0;
    OK(MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &t));
    OK(MPI_Type_size(t, &bytes));
    OK(MPI_Type_size_c(t, &large));
    CHECK(bytes == MPI_UNDEFINED && large == (MPI_Count)8 << 30);
    OK(MPI_Type_free(&t));
}

static void fortran(void)
{
    MPI_Datatype t, again;
    int bytes, ni, na, nd, combiner, integers[2];
    for (int typeclass = MPI_TYPECLASS_INTEGER; typeclass <= MPI_TYPECLASS_COMPLEX; typeclass++) {
        int wanted = typeclass == MPI_TYPECLASS_COMPLEX ? 16 : 8;
        OK(MPI_Type_match_size(typeclass, wanted, &t));
        OK(MPI_Type_size(t, &bytes));
        CHECK(bytes == wanted);
        FAILS(MPI_ERR_ARG, MPI_Type_match_size(typeclass, 3, &t));
    }
    FAILS(MPI_ERR_ARG, MPI_Type_match_size(1, 4, &t));
    OK(MPI_Type_create_f90_real(12, 100, &t));
    OK(MPI_Type_size(t, &bytes));
    CHECK(bytes == 8);
    OK(MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner));
    CHECK(ni == 2 && na == 0 && nd == 0 && combiner == MPI_COMBINER_F90_REAL);
    OK(MPI_Type_get_contents(t, 2, 0, 0, integers, NULL, NULL));
    CHECK(integers[0] == 12 && integers[1] == 100);
    OK(MPI_Type_create_f90_real(12, 100, &again));
    CHECK(again == t);
    OK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &t));
    OK(MPI_Type_size(t, &bytes));
    CHECK(bytes == 8);
    OK(MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner));
    CHECK(ni == 2 && combiner == MPI_COMBINER_F90_COMPLEX);
    OK(MPI_Type_create_f90_integer(9, &t));
    OK(MPI_Type_size(t, &bytes));
    CHECK(bytes == 4);
    OK(MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner));
    CHECK(ni == 1 && combiner == MPI_COMBINER_F90_INTEGER);
    OK(MPI_Type_get_contents(t, 1, 0, 0, integers, NULL, NULL));
    CHECK(integers[0] == 9);
    /* A predefined type: used as it is, not freed. */
    int a = 5, b = 0;
    OK(MPI_Sendrecv(&a, 1, t, 0, 0, &b, 1, t, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(b == 5);
    OK(MPI_Reduce_local(&a, &b, 1, t, MPI_SUM));
    CHECK(b == 10);
    MPI_Datatype copy = t;
    if (strict()) FAILS(MPI_ERR_TYPE, MPI_Type_free(&copy));
    CHECK(MPI_Type_create_f90_real(100, 10, &t) != MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_integer(100, &t) != MPI_SUCCESS);
}

static void pairs(void)
{
    MPI_Datatype pair;
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
    CHECK(pair == MPI_2INT);
    OK(MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    FAILS(MPI_ERR_TYPE, MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &pair));
}

static void names(void)
{
    MPI_Datatype t;
    char name[MPI_MAX_OBJECT_NAME], longer[2 * MPI_MAX_OBJECT_NAME];
    int length = -1;
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    OK(MPI_Type_get_name(t, name, &length));
    CHECK(length == 0 && name[0] == 0);
    OK(MPI_Type_set_name(t, "two ints"));
    OK(MPI_Type_get_name(t, name, &length));
    CHECK(length == 8 && !strcmp(name, "two ints"));
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    OK(MPI_Type_set_name(t, longer));
    OK(MPI_Type_get_name(t, name, &length));
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strlen(name) == (size_t)length);
    OK(MPI_Type_free(&t));
}

static void wrong(void)
{
    MPI_Datatype t, freed;
    int n;
    MPI_Aint lb, extent;
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    freed = t;
    OK(MPI_Type_free(&t));
    FAILS(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &n));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_extent(MPI_DATATYPE_NULL, &lb, &extent));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&t));
    t = MPI_DATATYPE_NULL;
    FAILS(MPI_ERR_TYPE, MPI_Type_commit(&t));
    FAILS(MPI_ERR_ARG, MPI_Type_size(MPI_INT, NULL));
    if (strict()) {
        FAILS(MPI_ERR_TYPE, MPI_Type_size(freed, &n));
        FAILS(MPI_ERR_TYPE, MPI_Type_free(&freed));
        FAILS(MPI_ERR_TYPE, MPI_Type_size((MPI_Datatype)MPI_COMM_WORLD, &n));
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    predefined();
    bounds();
    fortran();
    pairs();
    names();
    wrong();
    return finish();
}
