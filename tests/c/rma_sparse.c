// ranks: 2 4
// Memory for the program is reserved, and not touched: a large window that is used in parts takes the memory of those parts.
#include "rma.h"
#include <unistd.h>

enum { PARTS = 8 };
static const MPI_Aint BYTES = (MPI_Aint)2 << 30, FEW = 96 << 20;

static long resident(void)
{
    long all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Each rank puts a number into some places of the next one's memory. */
static void use(MPI_Win win, const char *base, const char *kind, long before)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    CHECK(resident() - before < FEW, "%s: %ld bytes when it was made", kind, resident() - before);
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < PARTS; i++) {
        long value = 100 * rank + i;
        OK(MPI_Put(&value, sizeof value, MPI_BYTE, next, BYTES / PARTS * (i + 1) - 64, sizeof value, MPI_BYTE, win));
        OK(MPI_Win_fence(0, win));
    }
    for (int i = 0; i < PARTS; i++) {
        long value, around;
        memcpy(&value, base + BYTES / PARTS * (i + 1) - 64, sizeof value);
        memcpy(&around, base + BYTES / PARTS * (i + 1) - 56, sizeof around);
        CHECK(value == 100 * previous + i && around == 0, "%s, part %d: %ld, %ld", kind, i, value, around);
    }
    CHECK(resident() - before < FEW, "%s: %ld bytes when it was used", kind, resident() - before);
    OK(MPI_Win_fence(0, win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Win win;
    char *base;
    long before = resident();
    OK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    use(win, base, "MPI_Win_allocate", before);
    OK(MPI_Win_free(&win));
    if (on_one_node(MPI_COMM_WORLD)) {
        before = resident();
        OK(MPI_Win_allocate_shared(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        use(win, base, "MPI_Win_allocate_shared", before);
        OK(MPI_Win_free(&win));
    }
    before = resident();
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &base));
    OK(MPI_Win_create(base, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    use(win, base, "MPI_Alloc_mem", before);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return finish();
}
