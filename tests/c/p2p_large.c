// ranks: 2
// timeout: 120
// needs: test "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 8000000
// Messages beyond 2^31 bytes, by large counts and by types of many elements.
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const MPI_Count len = (1LL << 31) + 4097;
    const int block = 4096;
    MPI_Count blocks = len / block, count;
    unsigned char *memory = malloc(len);
    MPI_Datatype type;
    MPI_Status status;
    int small;
    OK(MPI_Type_contiguous(block, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    if (rank == 0) {
        for (MPI_Count i = 0; i < len; i += 4095) memory[i] = (unsigned char)(i >> 12);
        OK(MPI_Send_c(memory, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        OK(MPI_Send(memory, blocks, type, 1, 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv_c(memory, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
        CHECK(count == len, "%lld", (long long)count);
        /* Too many for an int. */
        OK(MPI_Get_count(&status, MPI_BYTE, &small));
        CHECK(small == MPI_UNDEFINED, "%d", small);
        for (MPI_Count i = 0; i < len; i += 4095)
            if (memory[i] != (unsigned char)(i >> 12)) {
                CHECK(0, "byte %lld", (long long)i);
                break;
            }
        memset(memory, 0, len);
        OK(MPI_Recv(memory, blocks, type, 0, 1, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, type, &small));
        CHECK(small == blocks);
        for (MPI_Count i = 0; i < blocks * block; i += 4095)
            if (memory[i] != (unsigned char)(i >> 12)) {
                CHECK(0, "byte %lld", (long long)i);
                break;
            }
    }
    OK(MPI_Type_free(&type));
    free(memory);
    return finish();
}
