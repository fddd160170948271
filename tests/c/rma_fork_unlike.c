// ranks: 3
// nodes: 1
// Memory of a window is shared in place, but one process may not use the kernel's copies, so that the part that is shared
// in place is of no use: all bytes go by the kernel, or in messages. A fork replaces no page of it: what a peer has put
// there in the meantime would be lost.
#include "fork.h"
#include "mapping.h"

/* In malloc's heap, where the first and the last page hold other data too. */
enum { COUNT = 8000 };

static void put(MPI_Win win, long *from, long value)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < COUNT; i++)
            from[i] = value;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        OK(MPI_Put(from, COUNT, MPI_LONG, 1, 0, COUNT, MPI_LONG, win));
        OK(MPI_Win_unlock(1, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *number = getenv("TERN_RANK");
    if (number && !strcmp(number, "2"))
        setenv("TERN_MECHANISM", "mapped", 1);
    begin(&argc, &argv);
    long *memory = malloc(COUNT * sizeof *memory), *from = malloc(COUNT * sizeof *from);
    MPI_Win win;
    OK(MPI_Win_create(memory, COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    put(win, from, 5);
    if (rank == 1) {
        int shared = is_shared(memory + COUNT / 2);
        pid_t child = fork();
        if (child == 0) {
            int right = memory[0] == 5 && memory[COUNT / 2] == 5;
            for (int i = 0; i < COUNT; i++)
                memory[i] = -1;
            _exit(!right);
        }
        ends_well(child);
        CHECK(is_shared(memory + COUNT / 2) == shared);
        for (int i = 0; i < COUNT; i++)
            if (memory[i] != 5) {
                CHECK(memory[i] == 5, "element %d is %ld", i, memory[i]);
                break;
            }
    }
    put(win, from, 9);
    if (rank == 1)
        CHECK(memory[0] == 9 && memory[COUNT / 2] == 9 && memory[COUNT - 1] == 9);
    OK(MPI_Win_free(&win));
    free(from);
    free(memory);
    return finish();
}
