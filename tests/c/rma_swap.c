// MPI_Compare_and_swap of characters, which the standard does not name but every library takes; and of what none takes.
// ranks: 2 4
#include "rma.h"

#define SWAP(type, datatype) do { \
    type *memory, new = (type)('a' + rank), old = 0, was = 9; \
    MPI_Win win; \
    OK(MPI_Win_allocate(sizeof(type), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win)); \
    *memory = 0; \
    OK(MPI_Win_fence(0, win)); \
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win)); \
    /* Each rank swaps at the last one: one finds 0 there. */ \
    OK(MPI_Win_lock(MPI_LOCK_SHARED, size - 1, 0, win)); \
    OK(MPI_Compare_and_swap(&new, &old, &was, datatype, size - 1, 0, win)); \
    OK(MPI_Win_unlock(size - 1, win)); \
    OK(MPI_Barrier(MPI_COMM_WORLD)); \
    int first = was == 0, firsts = 0; \
    OK(MPI_Allreduce(&first, &firsts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)); \
    CHECK(firsts == 1, "%d have swapped", firsts); \
    CHECK(was == 0 || (was >= (type)'a' && was < (type)('a' + size))); \
    if (rank == size - 1) \
        CHECK(*memory >= (type)'a' && *memory < (type)('a' + size)); \
    OK(MPI_Win_free(&win)); \
} while (0)

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    SWAP(char, MPI_CHAR);
    SWAP(wchar_t, MPI_WCHAR);
    SWAP(char, MPI_CHARACTER);
    SWAP(unsigned char, MPI_BYTE);
    SWAP(int, MPI_INT);

    double *memory, a = 1;
    MPI_Win win;
    OK(MPI_Win_allocate(sizeof a, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&a, &a, &a, MPI_DOUBLE, 0, 0, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return finish();
}
