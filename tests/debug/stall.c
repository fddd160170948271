// Ways to wait for ever. Usage: stall WAY; each never ends by itself.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

/* Every rank receives first. */
static void head_to_head(void)
{
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The last rank computes, the others have come to a barrier. */
static void computes(void)
{
    if (rank == size - 1) {
        puts("computes");
        fflush(stdout);
        pause();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Wrong tag: what came is not what is asked for. */
static void wrong_tag(void)
{
    MPI_Comm named;
    char text[100] = "";
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "the exchange");
    if (rank == 0)
        MPI_Send(text, 100, MPI_CHAR, 1, 1, named);
    if (rank == 1)
        MPI_Recv(text, 100, MPI_CHAR, 0, 2, named, MPI_STATUS_IGNORE);
    MPI_Barrier(named);
}

/* A long send to one that looks for something else, again and again. */
static void polls(void)
{
    static char data[1 << 20];
    if (rank == 0)
        MPI_Send(data, 1 << 20, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    for (int flag = 0; rank == 1 && !flag;)
        MPI_Iprobe(0, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Requests of which none will come. */
static void any(void)
{
    MPI_Request requests[2];
    int values[2], index;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

/* Another collective at one rank, on a communicator whose collectives take messages. */
static void collective(void)
{
    static char data[8 << 20];
    if (rank > 0)
        MPI_Bcast(data, 8 << 20, MPI_CHAR, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Two spawned processes have sent all they had, and end; the one that spawned them waits for more. */
static void spawned(char *program)
{
    MPI_Comm inter;
    int value = 0;
    MPI_Comm_get_parent(&inter);
    if (inter != MPI_COMM_NULL)
        return;
    char *arguments[] = {"spawned", NULL};
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
    for (int i = 0; i < 2; i++)
        MPI_Send(&value, 1, MPI_INT, i, 0, inter);
    MPI_Recv(&value, 1, MPI_INT, 1, 1, inter, MPI_STATUS_IGNORE);
}

static MPI_Win counters(void)
{
    MPI_Win win;
    long *base;
    MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "counters");
    return win;
}

/* Rank 0 has the memory of rank 1 alone, and waits for a word from rank 1, which wants to share it. */
static void locked(void)
{
    MPI_Win win = counters();
    int value = 0;
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    else
        MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* All but the last rank share a lock of its memory, of which one computes; the last one wants it alone. */
static void shared(void)
{
    MPI_Win win = counters();
    const int last = size - 1;
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
    else if (rank < last)
        MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    else if (rank == 0)
        pause();
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank has the memory of rank 0 alone, and computes; all others want that of all. Rank 0 grants its own lock, so it is one of those that
 * wait inside MPI. */
static void lock_all(void)
{
    MPI_Win win = counters();
    if (rank == size - 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        pause();
    MPI_Win_lock_all(0, win);
}

/* Rank 0 has the memory of the last rank alone, and computes; all others want that one. */
static void held(void)
{
    MPI_Win win = counters();
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        pause();
    MPI_Win_lock(MPI_LOCK_SHARED, size - 1, 0, win);
}

/* Rank 0 shares the memory of all, and computes; the last one wants that of rank 1 alone. */
static void all_shared(void)
{
    MPI_Win win = counters();
    if (rank == 0)
        MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        pause();
    if (rank == size - 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 has the memory of rank 1 alone, both compute, and the others want it. */
static void absent(void)
{
    MPI_Win win = counters();
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2)
        pause();
    /* They are outside MPI by then. */
    sleep(1);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
}

/* Ranks 0 and 1 share the memory of the last rank, which wants it alone; rank 0 gives it up after a while, rank 1 computes. */
static void left(void)
{
    MPI_Win win = counters();
    const int last = size - 1;
    if (rank < last)
        MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    if (rank == 1)
        pause();
    sleep(1);
    MPI_Win_unlock(last, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct { const char *name; void (*run)(void); } ways[] = {
        {"head-to-head", head_to_head}, {"computes", computes}, {"wrong-tag", wrong_tag},
        {"polls", polls}, {"any", any}, {"collective", collective},
        {"locked", locked}, {"shared", shared}, {"lock_all", lock_all}, {"held", held},
        {"all_shared", all_shared}, {"absent", absent}, {"left", left},
    };
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    if (argc > 1 && strcmp(argv[1], "spawned") == 0)
        spawned(argv[0]);
    MPI_Finalize();
    return 0;
}
