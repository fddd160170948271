// ranks: 1 2
// Packing and unpacking: several items in one buffer, positions, sizes, packed data as a message.
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Datatype columns;
    int a = 42, n = 0, position = 0, total = 0, matrix[4][3], back[4][3];
    double d[2] = {1.5, -2.5}, e[2] = {0, 0};
    char buffer[200];
    MPI_Count large = -1;
    for (int i = 0; i < 12; i++) matrix[i / 3][i % 3] = i, back[i / 3][i % 3] = -1;
    OK(MPI_Type_vector(4, 1, 3, MPI_INT, &columns));
    OK(MPI_Type_commit(&columns));
    OK(MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &n));
    CHECK(n >= (int)sizeof(int));
    total += n;
    OK(MPI_Pack_size(2, MPI_DOUBLE, MPI_COMM_WORLD, &n));
    total += n;
    OK(MPI_Pack_size(1, columns, MPI_COMM_WORLD, &n));
    total += n;
    CHECK(total <= 200);
    OK(MPI_Pack(&a, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(d, 2, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(&matrix[0][1], 1, columns, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK(position > 0 && position <= total);
    /* The buffer travels as MPI_PACKED and is unpacked bit by bit. */
    char received[200];
    int other = size - 1 - rank, used = position;
    OK(MPI_Sendrecv(buffer, used, MPI_PACKED, other, 0, received, sizeof received, MPI_PACKED, other, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    position = a = 0;
    OK(MPI_Unpack(received, used, &position, &a, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(received, used, &position, e, 2, MPI_DOUBLE, MPI_COMM_WORLD));
    OK(MPI_Unpack(received, used, &position, &back[0][1], 1, columns, MPI_COMM_WORLD));
    CHECK(position == used && a == 42 && e[0] == 1.5 && e[1] == -2.5);
    for (int i = 0; i < 12; i++) CHECK(back[i / 3][i % 3] == (i % 3 == 1 ? i : -1), "%d", i);
    /* Or received as what it holds. */
    MPI_Count place = 0;
    OK(MPI_Pack_c(d, 2, MPI_DOUBLE, buffer, sizeof buffer, &place, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(buffer, place, MPI_PACKED, other, 0, e, 2, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(e[0] == 1.5 && e[1] == -2.5);
    place = 0;
    e[0] = e[1] = 0;
    OK(MPI_Unpack_c(buffer, sizeof buffer, &place, e, 2, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(e[1] == -2.5 && place >= 16);
    OK(MPI_Pack_size_c((MPI_Count)1 << 40, MPI_DOUBLE, MPI_COMM_WORLD, &large));
    CHECK(large >= (MPI_Count)8 << 40);
    position = 3;
    OK(MPI_Pack(NULL, 0, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
    CHECK(position == 3);

    position = 0;
    FAILS(MPI_ERR_COUNT, MPI_Pack(&a, -1, MPI_INT, buffer, 4, &position, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Pack(&a, 1, MPI_DATATYPE_NULL, buffer, 4, &position, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COMM, MPI_Pack(&a, 1, MPI_INT, buffer, 4, &position, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Unpack(buffer, 4, &position, &a, 1, MPI_INT, MPI_COMM_NULL));
    FAILS(MPI_ERR_COUNT, MPI_Unpack(buffer, 4, &position, &a, -1, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Pack_size(-1, MPI_INT, MPI_COMM_WORLD, &n));
    FAILS(MPI_ERR_TYPE, MPI_Pack_size(1, MPI_DATATYPE_NULL, MPI_COMM_WORLD, &n));
    if (strict()) {
        FAILS(MPI_ERR_TRUNCATE, MPI_Pack(&a, 1, MPI_INT, buffer, 3, &position, MPI_COMM_WORLD));
        FAILS(MPI_ERR_TRUNCATE, MPI_Unpack(buffer, 3, &position, &a, 1, MPI_INT, MPI_COMM_WORLD));
        position = -1;
        FAILS(MPI_ERR_ARG, MPI_Unpack(buffer, 8, &position, &a, 1, MPI_INT, MPI_COMM_WORLD));
        FAILS(MPI_ERR_ARG, MPI_Pack(&a, 1, MPI_INT, buffer, 8, NULL, MPI_COMM_WORLD));
    }
    OK(MPI_Type_free(&columns));
    return finish();
}
