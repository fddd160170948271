// A job that loses ranks again and again, and replaces each of them, as one does that runs for days: what it keeps of the lost does not grow with
// their number. Long messages and a window are under way each time.
// mpiexec --with-ft, 3 ranks on a node; as many are lost as the first argument says, 12 if there is none.
#include "repair.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Losses until each rank but the first is a successor, and what is kept for a while has come and gone.
enum { SETTLED = 4, LONG = 1 << 18, SHARED = 1 << 16 };

static int lines(const char *path)
{
    FILE *file = fopen(path, "r");
    int count = 0;
    for (int c; file && (c = fgetc(file)) != EOF;)
        count += c == '\n';
    if (file)
        fclose(file);
    return count;
}

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

// Mappings and descriptors of this rank, and descriptors of the mpiexec that has started it.
static void count(int kept[3])
{
    char launcher[64];
    snprintf(launcher, sizeof launcher, "/proc/%d/fd", getppid());
    kept[0] = lines("/proc/self/maps");
    kept[1] = entries("/proc/self/fd");
    kept[2] = entries(launcher);
}

// One step of work, in which `victim` dies: in the midst of a window, or behind it.
static int work(MPI_Comm world, int step, int victim)
{
    static char out[LONG], in[LONG];
    int rank, size, code = MPI_SUCCESS;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    for (int i = 0; i < 6 && code == MPI_SUCCESS; i++)
        code = MPI_Sendrecv(out, LONG, MPI_CHAR, (rank + 1) % size, 7, in, LONG, MPI_CHAR, (rank + size - 1) % size, 7, world,
                            MPI_STATUS_IGNORE);
    MPI_Win win;
    char *memory;
    if (code != MPI_SUCCESS || (code = MPI_Win_allocate(SHARED, 1, MPI_INFO_NULL, world, &memory, &win)) != MPI_SUCCESS)
        return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, step, SHARED);
    code = MPI_Win_fence(0, win);
    if (rank == victim && step % 2)
        raise(SIGKILL);
    int ended = MPI_Win_fence(0, win);
    int freed = MPI_Win_free(&win);
    if (rank == victim)
        raise(SIGKILL);
    return code != MPI_SUCCESS ? code : ended != MPI_SUCCESS ? ended : freed;
}

int main(int argc, char **argv)
{
    MPI_Comm world, parent;
    int losses = argc > 1 ? atoi(argv[1]) : 12, step = 0, rank, size, first[3], last[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    } else {
        world = repair(MPI_COMM_NULL, argv[0]);
    }
    for (;;) {
        MPI_Comm_rank(world, &rank);
        MPI_Comm_size(world, &size);
        // The first rank lives, and knows how far all are.
        int code = MPI_Bcast(&step, 1, MPI_INT, 0, world);
        if (code == MPI_SUCCESS && step == losses)
            break;
        if (code == MPI_SUCCESS)
            code = work(world, step, 1 + step % (size - 1));
        if (code != MPI_SUCCESS)
            MPIX_Comm_revoke(world);
        int flag = code == MPI_SUCCESS;
        if (MPIX_Comm_agree(world, &flag) == MPI_SUCCESS && flag)
            continue;
        MPI_Comm broken = world;
        world = repair(broken, argv[0]);
        MPI_Comm_free(&broken);
        if (++step == SETTLED)
            count(first);
    }
    if (rank == 0) {
        count(last);
        int grown = 0;
        for (int i = 0; i < 3; i++)
            grown |= 2 * (last[i] - first[i]) >= losses - SETTLED;
        printf("after %d losses: %d mappings, %d descriptors, %d of mpiexec; after %d: %d, %d, %d: %s\n", losses, last[0], last[1], last[2],
               SETTLED, first[0], first[1], first[2], grown ? "it grows" : "it does not grow");
    }
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
