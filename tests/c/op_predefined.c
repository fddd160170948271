// ranks: 1 2 3
// Predefined operations on the types that MPI allows, and refusals of the others.
#include "check.h"
#include <complex.h>
#include <stdbool.h>

/* Reduces with `op` what the ranks give: values[rank]. */
#define REDUCES(ctype, type, op, expression) \
    do { \
        ctype mine[3], got[3] = {0}, wanted[3]; \
        for (int i = 0; i < 3; i++) { \
            int r = rank; \
            mine[i] = (ctype)(r * 3 + i + 1); \
            ctype acc = (ctype)(0 * 3 + i + 1); \
            for (r = 1; r < size; r++) { \
                ctype next = (ctype)(r * 3 + i + 1); \
                acc = (ctype)(expression); \
            } \
            wanted[i] = acc; \
        } \
        OK(MPI_Allreduce(mine, got, 3, type, op, MPI_COMM_WORLD)); \
        for (int i = 0; i < 3; i++) CHECK(got[i] == wanted[i], "%s %s element %d", #type, #op, i); \
    } while (0)

#define ARITHMETIC(ctype, type) \
    REDUCES(ctype, type, MPI_SUM, acc + next); \
    REDUCES(ctype, type, MPI_PROD, acc * next)
#define ORDERED(ctype, type) \
    ARITHMETIC(ctype, type); \
    REDUCES(ctype, type, MPI_MAX, acc > next ? acc : next); \
    REDUCES(ctype, type, MPI_MIN, acc < next ? acc : next)
#define BITS(ctype, type) \
    REDUCES(ctype, type, MPI_BAND, acc & next); \
    REDUCES(ctype, type, MPI_BOR, acc | next); \
    REDUCES(ctype, type, MPI_BXOR, acc ^ next)
#define LOGIC(ctype, type) \
    REDUCES(ctype, type, MPI_LAND, acc && next); \
    REDUCES(ctype, type, MPI_LOR, acc || next); \
    REDUCES(ctype, type, MPI_LXOR, !acc != !next)
#define INTEGER(ctype, type) \
    ORDERED(ctype, type); \
    BITS(ctype, type); \
    if (size > 1) { LOGIC(ctype, type); }

#define PAIR(ctype, type) \
    do { \
        struct { ctype value; int index; } mine[2], got[2]; \
        memset(mine, 0, sizeof mine); \
        memset(got, 0, sizeof got); \
        mine[0].value = (ctype)(rank % 2); \
        mine[1].value = (ctype)(10 + rank); \
        mine[0].index = mine[1].index = 100 + rank; \
        OK(MPI_Allreduce(mine, got, 2, type, MPI_MAXLOC, MPI_COMM_WORLD)); \
        CHECK(got[0].value == (size > 1) && got[0].index == 100 + (size > 1), #type " maxloc"); \
        CHECK(got[1].value == 10 + size - 1 && got[1].index == 100 + size - 1, #type " maxloc"); \
        OK(MPI_Allreduce(mine, got, 2, type, MPI_MINLOC, MPI_COMM_WORLD)); \
        CHECK(got[0].value == 0 && got[0].index == 100, #type " minloc"); \
        CHECK(got[1].value == 10 && got[1].index == 100, #type " minloc"); \
    } while (0)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    INTEGER(int, MPI_INT);
    INTEGER(short, MPI_SHORT);
    INTEGER(long, MPI_LONG);
    INTEGER(long long, MPI_LONG_LONG);
    INTEGER(unsigned, MPI_UNSIGNED);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    INTEGER(char, MPI_CHAR);
    INTEGER(signed char, MPI_SIGNED_CHAR);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGER(int8_t, MPI_INT8_T);
    INTEGER(int16_t, MPI_INT16_T);
    INTEGER(int32_t, MPI_INT32_T);
    INTEGER(int64_t, MPI_INT64_T);
    INTEGER(uint8_t, MPI_UINT8_T);
    INTEGER(uint16_t, MPI_UINT16_T);
    INTEGER(uint32_t, MPI_UINT32_T);
    INTEGER(uint64_t, MPI_UINT64_T);
    ORDERED(MPI_Aint, MPI_AINT);
    ORDERED(MPI_Offset, MPI_OFFSET);
    ORDERED(MPI_Count, MPI_COUNT);
    BITS(MPI_Count, MPI_COUNT);
    if (size > 1) {
        LOGIC(MPI_Aint, MPI_AINT);
        LOGIC(MPI_Offset, MPI_OFFSET);
        LOGIC(MPI_Count, MPI_COUNT);
    }
    ORDERED(int, MPI_INTEGER);
    BITS(int, MPI_INTEGER);
    ORDERED(float, MPI_FLOAT);
    ORDERED(double, MPI_DOUBLE);
    ORDERED(long double, MPI_LONG_DOUBLE);
    ORDERED(float, MPI_REAL);
    ORDERED(double, MPI_DOUBLE_PRECISION);
    ARITHMETIC(float complex, MPI_C_FLOAT_COMPLEX);
    ARITHMETIC(double complex, MPI_C_DOUBLE_COMPLEX);
    ARITHMETIC(double complex, MPI_DOUBLE_COMPLEX);
    LOGIC(bool, MPI_C_BOOL);
    LOGIC(int, MPI_LOGICAL);
    BITS(unsigned char, MPI_BYTE);
    PAIR(float, MPI_FLOAT_INT);
    PAIR(double, MPI_DOUBLE_INT);
    PAIR(long, MPI_LONG_INT);
    PAIR(int, MPI_2INT);
    PAIR(short, MPI_SHORT_INT);
    PAIR(long double, MPI_LONG_DOUBLE_INT);

    char buffer[256] = {0}, result[256] = {0};
    const struct { MPI_Op op; MPI_Datatype type; } refused[] = {
        {MPI_BAND, MPI_FLOAT}, {MPI_BXOR, MPI_DOUBLE}, {MPI_MAX, MPI_C_DOUBLE_COMPLEX}, {MPI_SUM, MPI_BYTE},
        {MPI_SUM, MPI_DOUBLE_INT}, {MPI_MINLOC, MPI_INT}, {MPI_MAXLOC, MPI_DOUBLE},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        FAILS(MPI_ERR_OP, MPI_Allreduce(buffer, result, 1, refused[i].type, refused[i].op, MPI_COMM_WORLD));
        FAILS(MPI_ERR_OP, MPI_Reduce_local(buffer, result, 1, refused[i].type, refused[i].op));
    }
    MPI_Op op = MPI_OP_NULL;
    int commute;
    FAILS(MPI_ERR_OP, MPI_Allreduce(buffer, result, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
    FAILS(MPI_ERR_OP, MPI_Allreduce(buffer, result, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(buffer, result, 1, MPI_INT, MPI_NO_OP));
    FAILS(MPI_ERR_OP, MPI_Op_commutative(MPI_OP_NULL, &commute));
    FAILS(MPI_ERR_OP, MPI_Op_free(&op));
    op = MPI_MAX;
    FAILS(MPI_ERR_OP, MPI_Op_free(&op));
    CHECK(op == MPI_MAX);
    FAILS(MPI_ERR_ARG, MPI_Op_create(NULL, 1, &op));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(buffer, buffer, 1, MPI_INT, MPI_SUM));
    if (strict()) {
        FAILS(MPI_ERR_COUNT, MPI_Reduce_local(buffer, result, -1, MPI_INT, MPI_SUM));
        FAILS(MPI_ERR_TYPE, MPI_Reduce_local(buffer, result, 1, MPI_DATATYPE_NULL, MPI_SUM));
        FAILS(MPI_ERR_OP, MPI_Reduce_local(buffer, result, 1, MPI_WCHAR, MPI_MAX));
    }
    return finish();
}
