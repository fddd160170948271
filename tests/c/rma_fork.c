// ranks: 2
// flags: -O1
// Windows over the program's own memory, which may be made shared in place: a fork in the middle of their life leaves
// parent and child apart, and what others put afterwards arrives at the parent. So does what goes through two windows
// over the same memory, and after the windows the memory is the program's again.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "rank %d, line %d: not %s\n", rank, __LINE__, #what); \
                                        MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

static int rank;

/* A child finds what was there at the fork, and what it writes is its own. */
static void fork_and_write(long *memory, long count, long expected)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int wrong = 0;
        for (long i = 0; i < count; i++)
            wrong |= memory[i] != expected;
        for (long i = 0; i < count; i++)
            memory[i] = -1;
        _exit(wrong);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (long i = 0; i < count; i++)
        CHECK(memory[i] == expected);
}

/* Rank 0 sets all elements at rank 1 to `value`: half by puts, half by accumulates. */
static void set(MPI_Win win, long *from, long count, long value, long before)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (long i = 0; i < count; i++)
            from[i] = i < count / 2 ? value : value - before;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(from, (int)(count / 2), MPI_LONG, 1, 0, (int)(count / 2), MPI_LONG, win);
        for (long i = count / 2; i < count; i++)
            MPI_Accumulate(from + i, 1, MPI_LONG, 1, i, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run(long count)
{
    long *memory = malloc((size_t)count * sizeof *memory), *from = malloc((size_t)count * sizeof *from);
    for (long i = 0; i < count; i++)
        memory[i] = 1;
    MPI_Win win, other;
    MPI_Win_create(memory, count * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    set(win, from, count, 5, 1);
    if (rank == 1)
        fork_and_write(memory, count, 5);
    set(win, from, count, 9, 5);
    MPI_Win_create(memory, count * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    set(other, from, count, 11, 9);
    MPI_Win_free(&win);
    if (rank == 1)
        fork_and_write(memory, count, 11);
    set(other, from, count, 20, 11);
    if (rank == 1)
        for (long i = 0; i < count; i++)
            CHECK(memory[i] == 20);
    MPI_Win_free(&other);
    if (rank == 1)
        fork_and_write(memory, count, 20);
    memory = realloc(memory, 3 * (size_t)count * sizeof *memory);
    CHECK(memory != NULL);
    for (long i = 0; rank == 1 && i < count; i++)
        CHECK(memory[i] == 20);
    memset(memory, 0, 3 * (size_t)count * sizeof *memory);
    free(memory);
    free(from);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    run(8);
    run(3000);
    run(100000);
    run(8);
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
