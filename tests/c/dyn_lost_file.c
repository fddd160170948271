// A process of another job dies inside a collective MPI_File_open: at its beginning the others get MPI_ERR_PROC_ABORTED, at its end they
// may have the file open, and get that when they close it. Nobody waits for ever, and no file stays open.
// ranks: 1 2
// timeout: 120
#include "opening.h"
#include "check.h"
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char port[MPI_MAX_PORT_NAME], name[512] = "/tmp/tern-test-lost-file-XXXXXX";

/* How many descriptors of the file this process has. */
static int descriptors(void)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder));) {
        char at[300], target[600];
        snprintf(at, sizeof at, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(at, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        found += strcmp(target, name) == 0;
    }
    closedir(folder);
    return found;
}

/* Opens the file with the processes of both jobs; the other job is the first of them, or the last. */
static int open_together(MPI_Comm inter, int last, MPI_Comm *both, MPI_File *file)
{
    OK(MPI_Intercomm_merge(inter, last, both));
    OK(MPI_Barrier(*both));
    if (getenv("TERN_TEST_DIES") && die_opening(getenv("TERN_TEST_DIES")) != 0)
        return MPI_SUCCESS;
    return MPI_File_open(*both, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, file);
}

/* A job of its own, which dies. */
static int other(int last)
{
    MPI_Comm inter, both;
    MPI_File file;
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    open_together(inter, last, &both, &file);
    return 5;
}

/* Starts the other job, without a launcher, and meets it. It dies at that place. */
static void meet(char *program, char *where, int last)
{
    pid_t started = 0;
    MPI_Comm inter, both;
    MPI_File file = MPI_FILE_NULL;
    if (rank == 0) {
        char libraries[4096], dies[100];
        char *environment[] = {libraries, dies, "PATH=/usr/bin:/bin", NULL};
        char *arguments[] = {program, last ? "last" : "first", port, name, NULL};
        const char *path = getenv("LD_LIBRARY_PATH");
        snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", path ? path : "");
        snprintf(dies, sizeof dies, "TERN_TEST_DIES=%s", where);
        started = fork();
        if (started == 0) {
            execve(program, arguments, environment);
            _exit(127);
        }
    }
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    int code = open_together(inter, !last, &both, &file), class, status = 0;
    MPI_Error_class(code, &class);
    if (code == MPI_SUCCESS && strcmp(where, "open") != 0)
        FAILS(MPI_ERR_PROC_ABORTED, MPI_File_close(&file));
    else
        CHECK(class == MPI_ERR_PROC_ABORTED, "class %d, the other is %s and dies at %s", class, last ? "last" : "first", where);
    CHECK(file == MPI_FILE_NULL && descriptors() == 0, "%d descriptors", descriptors());
    if (rank == 0)
        CHECK(waitpid(started, &status, 0) == started && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%#x", status);
    /* The own job goes on. */
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        snprintf(port, sizeof port, "%s", argv[2]);
        snprintf(name, sizeof name, "%s", argv[3]);
        begin(&argc, &argv);
        return other(strcmp(argv[1], "last") == 0);
    }
    begin(&argc, &argv);
    if (rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        close(mkstemp(name));
    }
    OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int last = 0; last < 2; last++) {
        meet(argv[0], "open", last);
        meet(argv[0], "lock", last);
    }
    if (rank == 0)
        CHECK(unlink(name) == 0);
    return finish();
}
