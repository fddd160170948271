// ranks: 1
// Counting what a status stands for: whole elements, basic elements, parts of them.
#include "check.h"

static void counts(MPI_Datatype type, int bytes, int wanted_count, int wanted_elements, int line)
{
    MPI_Status status;
    int n = -7;
    MPI_Count large = -7;
    char *room = calloc(2, 1000);
    MPI_Request request;
    OK(MPI_Irecv(room, 1000, MPI_PACKED, 0, 0, MPI_COMM_SELF, &request));
    OK(MPI_Send(room + 1000, bytes, MPI_PACKED, 0, 0, MPI_COMM_SELF));
    OK(MPI_Wait(&request, &status));
    free(room);
    OK(MPI_Get_count(&status, type, &n));
    OK(MPI_Get_count_c(&status, type, &large));
    CHECK(n == wanted_count && large == wanted_count, "line %d: count %d", line, n);
    OK(MPI_Get_elements(&status, type, &n));
    OK(MPI_Get_elements_c(&status, type, &large));
    CHECK(n == wanted_elements && large == wanted_elements, "line %d: elements %d", line, n);
    OK(MPI_Get_elements_x(&status, type, &large));
    CHECK(large == wanted_elements);
}
#define COUNTS(type, bytes, count, elements) counts(type, bytes, count, elements, __LINE__)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Datatype pair, mixed, nothing, large;
    MPI_Status status;
    int n;
    MPI_Count c;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &mixed));
    OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Type_commit(&mixed));
    OK(MPI_Type_commit(&nothing));
    COUNTS(MPI_INT, 0, 0, 0);
    COUNTS(MPI_INT, 12, 3, 3);
    COUNTS(MPI_INT, 13, MPI_UNDEFINED, MPI_UNDEFINED);
    COUNTS(pair, 16, 2, 4);
    COUNTS(pair, 12, MPI_UNDEFINED, 3);
    COUNTS(mixed, 32, 2, 6);
    COUNTS(mixed, 8, MPI_UNDEFINED, 1);
    COUNTS(mixed, 28, MPI_UNDEFINED, 5);
    COUNTS(nothing, 0, 0, 0);

    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_elements(&status, mixed, 4));
    OK(MPI_Get_elements(&status, mixed, &n));
    CHECK(n == 4);
    OK(MPI_Get_count(&status, mixed, &n));
    CHECK(n == MPI_UNDEFINED);
    OK(MPI_Get_count(&status, MPI_BYTE, &n));
    CHECK(n == 24);
    OK(MPI_Status_set_elements_c(&status, MPI_INT, (MPI_Count)1 << 32));
    OK(MPI_Get_elements_c(&status, MPI_INT, &c));
    CHECK(c == (MPI_Count)1 << 32);
    OK(MPI_Get_elements(&status, MPI_INT, &n));
    CHECK(n == MPI_UNDEFINED);
    OK(MPI_Status_set_elements_x(&status, MPI_DOUBLE, 3));
    OK(MPI_Get_count_c(&status, MPI_DOUBLE, &c));
    CHECK(c == 3);
    /* One element of more bytes than an int counts. */
    OK(MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &large));
    OK(MPI_Status_set_elements_x(&status, MPI_DOUBLE, (MPI_Count)1 << 31));
    OK(MPI_Get_count(&status, large, &n));
    CHECK(n == 2);

    FAILS(MPI_ERR_TYPE, MPI_Get_count(&status, MPI_DATATYPE_NULL, &n));
    FAILS(MPI_ERR_TYPE, MPI_Get_elements(&status, MPI_DATATYPE_NULL, &n));
    FAILS(MPI_ERR_ARG, MPI_Get_count(&status, MPI_INT, NULL));
    FAILS(MPI_ERR_TYPE, MPI_Status_set_elements(&status, MPI_DATATYPE_NULL, 1));
    FAILS(MPI_ERR_COUNT, MPI_Status_set_elements(&status, MPI_INT, -1));
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&mixed));
    OK(MPI_Type_free(&nothing));
    OK(MPI_Type_free(&large));
    return finish();
}
