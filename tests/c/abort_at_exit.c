// The end of a job runs what the program has registered for its exit (atexit), which may call MPI: after MPI_Abort such a function runs
// and may abort again. What ends in the middle of a call, by a message that cannot be kept, calls none; what stdio holds is written all the same.
// ranks: 1
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN = 3, AGAIN = 4, LONG = 256 << 20 };

static int ends[2];
static MPI_Comm inter = MPI_COMM_NULL;

static void probe_at_exit(void)
{
    int flag;
    MPI_Initialized(&flag);
    MPI_Finalized(&flag);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    printf("probed,");
}

static void abort_at_exit(void)
{
    MPI_Abort(MPI_COMM_SELF, AGAIN);
}

static void aborts(void)
{
    MPI_Init(NULL, NULL);
    atexit(probe_at_exit);
    printf("aborts,");
    MPI_Abort(MPI_COMM_SELF, OWN);
}

static void aborts_twice(void)
{
    MPI_Init(NULL, NULL);
    atexit(abort_at_exit);
    printf("aborts,");
    MPI_Abort(MPI_COMM_SELF, OWN);
}

/* A message is longer than the memory that this process may still take. */
static void gets_too_much(void)
{
    int flag;
    long pages = 0;
    FILE *file;
    MPI_Init(NULL, NULL);
    OK(MPI_Comm_join(ends[0], &inter));
    atexit(probe_at_exit);
    file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    struct rlimit limit = {.rlim_cur = pages * sysconf(_SC_PAGESIZE) + LONG / 4, .rlim_max = RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    printf("waits,");
    OK(MPI_Barrier(inter));
    for (;;) MPI_Iprobe(0, 7, inter, &flag, MPI_STATUS_IGNORE);
}

static void sends_too_much(void)
{
    MPI_Init(NULL, NULL);
    OK(MPI_Comm_join(ends[1], &inter));
    OK(MPI_Barrier(inter));
    MPI_Send(calloc(LONG, 1), LONG, MPI_BYTE, 0, 0, inter);
    for (;;) pause();
}

/* Starts a process that is alone in its world, and writes to that pipe. */
static pid_t start(void (*body)(void), int pipe)
{
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe, STDOUT_FILENO);
        body();
        _exit(99);
    }
    return child;
}

/* It has ended by itself, with that code, and what it has written is there. */
static void check_end(pid_t child, int from, int code, const char *written)
{
    int status;
    char text[100] = "";
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code, "status %#x, expected exit code %d", status, code);
    CHECK(read(from, text, sizeof text - 1) > 0);
    CHECK(strcmp(text, written) == 0, "%s, expected %s", text, written);
}

int main(void)
{
    int out[2];
    const char *launchers[] = {"TERN_LAUNCH", "PMI_FD", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE"};
    for (unsigned at = 0; at < sizeof launchers / sizeof *launchers; at++) unsetenv(launchers[at]);
    setenv("TERN_MECHANISM", "pipe", 1);
    setenv("TERN_EAGER_LIMIT", "1073741824", 1);
    CHECK(pipe(out) == 0 && fcntl(out[0], F_SETFL, O_NONBLOCK) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    check_end(start(aborts, out[1]), out[0], OWN, "aborts,probed,");
    check_end(start(aborts_twice, out[1]), out[0], AGAIN, "aborts,");
    pid_t sender = start(sends_too_much, out[1]);
    check_end(start(gets_too_much, out[1]), out[0], 16, "waits,");
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
    return failures != 0;
}
