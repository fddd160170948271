// ranks: 1
// The external32 form: big-endian, sizes of its own, both ways.
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned char out[100];
    MPI_Aint position = 0, bytes = -1;
    int a[2] = {0x01020304, -2}, b[2] = {0, 0};
    OK(MPI_Pack_external_size("external32", 2, MPI_INT, &bytes));
    CHECK(bytes == 8);
    OK(MPI_Pack_external("external32", a, 2, MPI_INT, out, sizeof out, &position));
    CHECK(position == 8);
    CHECK(!memcmp(out, "\1\2\3\4\377\377\377\376", 8));
    short s = 0x0506;
    OK(MPI_Pack_external("external32", &s, 1, MPI_SHORT, out, sizeof out, &position));
    CHECK(position == 10 && out[8] == 5 && out[9] == 6);
    double d = 1.0, e = 0;
    OK(MPI_Pack_external("external32", &d, 1, MPI_DOUBLE, out, sizeof out, &position));
    CHECK(position == 18 && !memcmp(out + 10, "\x3f\xf0\0\0\0\0\0\0", 8));
    position = 0;
    OK(MPI_Unpack_external("external32", out, 18, &position, b, 2, MPI_INT));
    CHECK(b[0] == a[0] && b[1] == a[1] && position == 8);
    short t = 0;
    OK(MPI_Unpack_external("external32", out, 18, &position, &t, 1, MPI_SHORT));
    OK(MPI_Unpack_external("external32", out, 18, &position, &e, 1, MPI_DOUBLE));
    CHECK(t == s && e == d && position == 18);
    /* A mixed type with gaps. */
    struct { char c; int i; double d; } x = {'q', 7, 2.0}, y;
    memset(&y, 0, sizeof y);
    MPI_Datatype mixed;
    OK(MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, (char *)&x.i - (char *)&x, (char *)&x.d - (char *)&x},
                              (MPI_Datatype[]){MPI_CHAR, MPI_INT, MPI_DOUBLE}, &mixed));
    OK(MPI_Type_commit(&mixed));
    MPI_Count size_c = -1, place = 0;
    OK(MPI_Pack_external_size_c("external32", 1, mixed, &size_c));
    CHECK(size_c == 13);
    OK(MPI_Pack_external_c("external32", &x, 1, mixed, out, sizeof out, &place));
    CHECK(place == 13 && !memcmp(out, "q\0\0\0\7\x40\0", 7));
    place = 0;
    OK(MPI_Unpack_external_c("external32", out, 13, &place, &y, 1, mixed));
    CHECK(place == 13 && y.c == 'q' && y.i == 7 && y.d == 2.0);
    OK(MPI_Type_free(&mixed));
    position = 0;
    FAILS(MPI_ERR_TYPE, MPI_Pack_external("external32", a, 1, MPI_DATATYPE_NULL, out, sizeof out, &position));
    FAILS(MPI_ERR_COUNT, MPI_Pack_external_size("external32", -1, MPI_INT, &bytes));
    if (strict()) {
        FAILS(MPI_ERR_ARG, MPI_Pack_external("native", a, 1, MPI_INT, out, sizeof out, &position));
        FAILS(MPI_ERR_TRUNCATE, MPI_Pack_external("external32", a, 1, MPI_INT, out, 3, &position));
        FAILS(MPI_ERR_TRUNCATE, MPI_Unpack_external("external32", out, 3, &position, b, 1, MPI_INT));
    }
    /* Addresses. */
    MPI_Aint first, second;
    OK(MPI_Get_address(&a[0], &first));
    OK(MPI_Get_address(&a[1], &second));
    CHECK(MPI_Aint_diff(second, first) == sizeof(int) && MPI_Aint_add(first, sizeof(int)) == second);
    MPI_Datatype absolute;
    OK(MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){second, first}, MPI_INT, &absolute));
    OK(MPI_Type_commit(&absolute));
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, absolute, 0, 0, b, 2, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(b[0] == a[1] && b[1] == a[0]);
    OK(MPI_Type_free(&absolute));
    return finish();
}
