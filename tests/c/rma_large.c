// ranks: 2
// timeout: 240
// needs: test "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 7000000
// More bytes than an int counts, by large counts and by large displacements.
#include "rma.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const MPI_Aint bytes = ((MPI_Aint)1 << 31) + (1 << 20);
    char *base, *memory = calloc(bytes, 1);
    MPI_Win win;
    OK(MPI_Win_allocate(rank == 1 ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    const MPI_Aint marks[] = {0, 4095, (MPI_Aint)1 << 30, INT32_MAX, (MPI_Aint)INT32_MAX + 1, bytes - 1};
    OK(MPI_Win_fence(0, win));
    if (rank == 0) {
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            memory[marks[i]] = (char)(i + 1);
        OK(MPI_Put_c(memory, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win));
    }
    OK(MPI_Win_fence(0, win));
    if (rank == 1)
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            CHECK(base[marks[i]] == (char)(i + 1), "mark %zu", i);
    if (rank == 0) {
        char last = 0, more = 9;
        OK(MPI_Get(&last, 1, MPI_CHAR, 1, bytes - 1, 1, MPI_CHAR, win));
        OK(MPI_Win_fence(0, win));
        CHECK(last == sizeof marks / sizeof *marks);
        OK(MPI_Accumulate(&more, 1, MPI_SIGNED_CHAR, 1, bytes - 1, 1, MPI_SIGNED_CHAR, MPI_SUM, win));
        if (strict())
            FAILS(MPI_ERR_RMA_RANGE, MPI_Put_c(memory, bytes, MPI_BYTE, 1, 1, bytes, MPI_BYTE, win));
    } else {
        OK(MPI_Win_fence(0, win));
    }
    OK(MPI_Win_fence(0, win));
    if (rank == 1)
        CHECK(base[bytes - 1] == 9 + sizeof marks / sizeof *marks);
    OK(MPI_Win_free(&win));
    free(memory);
    return finish();
}
