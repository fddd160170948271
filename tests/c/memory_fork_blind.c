// ranks: 2
// timeout: 100
// A fork has the memory that it needs, also where the process can open no file any more: it has used all its descriptors, its root is an
// empty directory, or /proc is gone.
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, WAYS = 3 };
static const char *const names[WAYS] = {"no descriptors", "an empty root", "no /proc"};

/* Nonzero where this user may not do that. */
static int go_blind(int way)
{
    char folder[] = "/tmp/tern-root-XXXXXX";
    int above, failed;
    switch (way) {
    case 0: {
        struct rlimit limit;
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max = 400;
        setrlimit(RLIMIT_NOFILE, &limit);
        while (dup(0) >= 0)
            ;
        return errno != EMFILE;
    }
    case 1:
        above = open("/tmp", O_PATH);
        if (!mkdtemp(folder))
            return 1;
        failed = chroot(folder) || chdir("/");
        unlinkat(above, folder + 5, AT_REMOVEDIR);
        return failed;
    default:
        return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || umount2("/proc", MNT_DETACH);
    }
}

static int all_are(const char *memory, char value)
{
    return memory[0] == value && memcmp(memory, memory + 1, BYTES - 1) == 0;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char *memory[2], *other = malloc(BYTES);
    MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &memory[0]);
    memory[1] = malloc(BYTES);
    memset(memory[0], 3, BYTES);
    memset(memory[1], 3, BYTES);
    /* Until it is promoted. */
    for (int turn = 0; turn < 400; turn++)
        for (int half = 0; half < 2; half++) {
            if (half == rank)
                MPI_Send(memory[1], BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(other, BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    /* Of what cannot be undone each rank has its own; descriptors come last. */
    for (int way = WAYS; way-- > 0;) {
        if (way > 0 && way != rank + 1)
            continue;
        if (go_blind(way)) {
            printf("rank %d: not %s: %s\n", rank, names[way], strerror(errno));
            continue;
        }
        pid_t child = fork();
        CHECK(child >= 0, "%s: %s", names[way], strerror(errno));
        if (child == 0) {
            int good = all_are(memory[0], 3) && all_are(memory[1], 3);
            memset(memory[0], 1, BYTES);
            memset(memory[1], 1, BYTES);
            _exit(!good);
        }
        int status = 0;
        CHECK(child < 0 || (waitpid(child, &status, 0) == child && status == 0), "%s: child %#x", names[way], status);
        CHECK(all_are(memory[0], 3) && all_are(memory[1], 3), "%s: parent", names[way]);
    }
    return finish();
}
