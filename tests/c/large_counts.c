// ranks: 2
// timeout: 300
// Counts, sizes and displacements beyond 2^31, in little memory: one piece is mapped over and over, or pages
// are touched where something lies only.
#include "large.h"

/* More bytes, and more elements, than an int counts. */
static void messages(void)
{
    unsigned char *memory = repeated(MORE_THAN_INT);
    MPI_Status status;
    MPI_Request request;
    MPI_Count count;
    int small;
    CHECK(memory != NULL);
    for (int way = 0; way < 2; way++) {
        memset(memory, 0, PIECE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            fill(memory);
            OK(MPI_Send_c(memory, MORE_THAN_INT, MPI_BYTE, 1, way, MPI_COMM_WORLD));
        } else {
            if (way == 0)
                OK(MPI_Recv_c(memory, MORE_THAN_INT + 5, MPI_BYTE, 0, way, MPI_COMM_WORLD, &status));
            else {
                OK(MPI_Irecv_c(memory, MORE_THAN_INT, MPI_BYTE, 0, way, MPI_COMM_WORLD, &request));
                OK(MPI_Wait(&request, &status));
            }
            OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
            CHECK(count == MORE_THAN_INT, "%lld", (long long)count);
            OK(MPI_Get_count(&status, MPI_BYTE, &small));
            CHECK(small == MPI_UNDEFINED, "%d", small);
            OK(MPI_Get_elements_c(&status, MPI_BYTE, &count));
            CHECK(count == MORE_THAN_INT, "%lld", (long long)count);
            CHECK(is_filled(memory));
        }
    }

    /* Truncation is told beyond 2^31 too; what fits has come. */
    if (rank == 0)
        OK(MPI_Send_c(memory, MORE_THAN_INT, MPI_BYTE, 1, 9, MPI_COMM_WORLD));
    else {
        FAILS(MPI_ERR_TRUNCATE, MPI_Recv_c(memory, 1L << 31, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &status));
        CHECK(is_filled(memory));
    }

    if (rank == 1)
        memset(memory, 0, PIECE);
    OK(MPI_Bcast_c(memory, MORE_THAN_INT, MPI_BYTE, 0, MPI_COMM_WORLD));
    CHECK(is_filled(memory));

    /* A reduction of more elements than an int counts, within a process: the larger of two. */
    unsigned char *other = repeated(MORE_THAN_INT);
    memset(other, 0, PIECE);
    OK(MPI_Reduce_local_c(memory, other, MORE_THAN_INT, MPI_UINT8_T, MPI_MAX));
    CHECK(is_filled(other));
    munmap(other, (MORE_THAN_INT + PIECE - 1) / PIECE * PIECE);
    munmap(memory, (MORE_THAN_INT + PIECE - 1) / PIECE * PIECE);
}

/* A few elements that lie more than 2^31 bytes apart. */
static void far_apart(void)
{
    const MPI_Count step = (1L << 31) + 8;
    unsigned char *memory = sparse(4 * step), packed[64];
    MPI_Datatype wide;
    MPI_Status status;
    MPI_Count size, lower, extent, position = 0, count;
    MPI_Aint place;
    int small, zero = 0, *element;
    OK(MPI_Type_create_hvector_c(3, 1, step, MPI_INT, &wide));
    OK(MPI_Type_commit(&wide));
    OK(MPI_Type_get_extent_c(wide, &lower, &extent));
    CHECK(lower == 0 && extent == 2 * step + 4, "%lld", (long long)extent);
    OK(MPI_Type_size_c(wide, &size));
    CHECK(size == 12, "%lld", (long long)size);
    OK(MPI_Type_get_extent(wide, &place, &place));
    for (int i = 0; i < 3; i++)
        memcpy(memory + i * step, &(int){100 * rank + i}, sizeof(int));
    if (rank == 0)
        OK(MPI_Send(memory, 1, wide, 1, 1, MPI_COMM_WORLD));
    else {
        OK(MPI_Recv(memory, 1, wide, 0, 1, MPI_COMM_WORLD, &status));
        for (int i = 0; i < 3; i++) {
            element = (int *)(memory + i * step);
            CHECK(*element == i, "%d: %d", i, *element);
        }
        OK(MPI_Get_count(&status, wide, &small));
        CHECK(small == 1, "%d", small);
    }
    OK(MPI_Pack_c(memory, 1, wide, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CHECK(position == 12, "%lld", (long long)position);
    for (int i = 0; i < 3; i++)
        memset(memory + i * step, 0xff, sizeof(int));
    position = 0;
    OK(MPI_Unpack_c(packed, 12, &position, memory, 1, wide, MPI_COMM_WORLD));
    element = (int *)(memory + 2 * step);
    CHECK(*element == 2, "%d", *element);
    OK(MPI_Type_free(&wide));

    /* Blocks of a collective at displacements beyond 2^31 elements. */
    MPI_Count ones[2] = {1, 1};
    MPI_Aint places[2] = {step, 3 * step};
    char own = (char)(rank + 5);
    OK(MPI_Allgatherv_c(&own, 1, MPI_CHAR, memory, ones, places, MPI_CHAR, MPI_COMM_WORLD));
    CHECK(memory[step] == 5 && memory[3 * step] == 6, "%d %d", memory[step], memory[3 * step]);
    char mine[2] = {(char)(10 * rank), (char)(10 * rank + 1)};
    MPI_Aint near[2] = {0, 1};
    OK(MPI_Alltoallv_c(mine, ones, near, MPI_CHAR, memory, ones, places, MPI_CHAR, MPI_COMM_WORLD));
    CHECK(memory[step] == rank && memory[3 * step] == 10 + rank, "%d %d", memory[step], memory[3 * step]);
    OK(MPI_Gatherv_c(&own, 1, MPI_CHAR, memory, ones, places, MPI_CHAR, 0, MPI_COMM_WORLD));
    CHECK(rank != 0 || (memory[step] == 5 && memory[3 * step] == 6), "%d %d", memory[step], memory[3 * step]);
    munmap(memory, 4 * step);

    /* More elements than an int counts, of which none has a byte. */
    MPI_Datatype nothing;
    OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
    OK(MPI_Type_commit(&nothing));
    OK(MPI_Sendrecv_c(&zero, 1L << 40, nothing, 1 - rank, 2, &zero, 1L << 40, nothing, 1 - rank, 2, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    OK(MPI_Type_free(&nothing));

    /* What an int cannot say. */
    MPI_Datatype huge;
    OK(MPI_Type_contiguous_c(1L << 33, MPI_INT, &huge));
    OK(MPI_Type_commit(&huge));
    OK(MPI_Type_size_c(huge, &size));
    CHECK(size == 1L << 35, "%lld", (long long)size);
    OK(MPI_Type_size(huge, &small));
    CHECK(small == MPI_UNDEFINED, "%d", small);
    OK(MPI_Type_free(&huge));
    OK(MPI_Pack_size_c(1L << 32, MPI_INT, MPI_COMM_WORLD, &size));
    CHECK(size >= 1L << 34, "%lld", (long long)size);
    OK(MPI_Pack_external_size_c("external32", 1L << 32, MPI_INT, &size));
    CHECK(size == 1L << 34, "%lld", (long long)size);
    OK(MPI_Status_set_elements_c(&status, MPI_INT, 1L << 40));
    OK(MPI_Get_elements_c(&status, MPI_INT, &count));
    CHECK(count == 1L << 40, "%lld", (long long)count);
    OK(MPI_Get_elements(&status, MPI_INT, &small));
    CHECK(small == MPI_UNDEFINED, "%d", small);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    messages();
    far_apart();
    return finish();
}
