// ranks: 2
// mpiexec: -x TERN_PROMOTE=always
// Memory that messages have made shared in place becomes that of a window. A fork replaces no page of it to which others
// write by the kernel: what they put there in the meantime would be lost. A receive beside it, which is open meanwhile and
// whose first page is one of the window's, gets its message.
#include "fork.h"
#include "mapping.h"

/* In malloc's heap, where the first and the last page hold other data too. */
enum { COUNT = 8000 };

static void set(long *memory, long value)
{
    for (int i = 0; i < COUNT; i++)
        memory[i] = value;
}

static void check(const long *memory, long value, const char *what)
{
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += memory[i] != value;
    CHECK(wrong == 0, "%s: %d of %d", what, wrong, COUNT);
}

/* From the one that has the window's memory to the other. */
static void use(long *memory)
{
    if (rank == 1)
        OK(MPI_Send(memory, COUNT, MPI_LONG, 0, 1, MPI_COMM_WORLD));
    else
        OK(MPI_Recv(memory, COUNT, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void put(MPI_Win win, long *from, long value)
{
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        set(from, value);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        OK(MPI_Put(from, COUNT, MPI_LONG, 1, 0, COUNT, MPI_LONG, win));
        OK(MPI_Win_unlock(1, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void window(long *memory, long *beside, long *from)
{
    MPI_Request open = MPI_REQUEST_NULL;
    MPI_Win win;
    for (int i = 0; i < 3; i++)
        use(memory), use(beside);
    int was = is_shared(memory);
    if (rank == 1)
        OK(MPI_Irecv(beside, COUNT, MPI_LONG, 0, 2, MPI_COMM_WORLD, &open));
    OK(MPI_Win_create(memory, COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (rank == 0) {
        set(from, 3);
        OK(MPI_Send(from, COUNT, MPI_LONG, 1, 2, MPI_COMM_WORLD));
    }
    put(win, from, 5);
    if (rank == 1) {
        const long *const some[] = {memory, memory + COUNT / 2, memory + COUNT - 1};
        int shared[3];
        if (!was && getenv("TERN_TEST_NODES") == NULL)
            printf("SKIP: memory is not shared in place here\n");
        for (int i = 0; i < 3; i++)
            shared[i] = is_shared(some[i]);
        go_apart();
        for (int i = 0; i < 3; i++)
            CHECK(is_shared(some[i]) == shared[i], "part %d was %d", i, shared[i]);
        check(memory, 5, "window");
        OK(MPI_Wait(&open, MPI_STATUS_IGNORE));
        check(beside, 3, "receive");
    }
    put(win, from, 9);
    if (rank == 1)
        check(memory, 9, "window");
    OK(MPI_Win_free(&win));
}

/* A fork changes nothing in the parent: a receive that is open meanwhile gets its message where it is. */
static void receive(long *memory, long *beside, long *from)
{
    MPI_Request open = MPI_REQUEST_NULL;
    for (int i = 0; i < 3; i++)
        use(memory);
    if (rank == 1) {
        OK(MPI_Irecv(memory, COUNT, MPI_LONG, 0, 3, MPI_COMM_WORLD, &open));
        int shared = is_shared(memory + COUNT - 1);
        go_apart();
        CHECK(is_shared(memory + COUNT - 1) == shared, "was %d", shared);
    }
    for (int i = 0; i < 3; i++)
        use(beside);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        set(from, 4);
        OK(MPI_Send(from, COUNT, MPI_LONG, 1, 3, MPI_COMM_WORLD));
    } else {
        OK(MPI_Wait(&open, MPI_STATUS_IGNORE));
        check(memory, 4, "receive");
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    /* Each begins in the page in which the one before it ends. */
    long *memory = malloc(COUNT * sizeof *memory), *beside = malloc(COUNT * sizeof *beside);
    long *from = malloc(COUNT * sizeof *from);
    set(memory, 1), set(beside, 1);
    window(memory, beside, from);
    receive(memory, beside, from);
    free(from);
    free(beside);
    free(memory);
    return finish();
}
