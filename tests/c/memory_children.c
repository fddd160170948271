// ranks: 2
// mpiexec: -x TERN_PROMOTE=always
// What a child of fork sees is the memory as it was: a window, memory of MPI_Alloc_mem, buffers of messages; also where limits are low, and
// where the child is stopped for as long as the parent stores.
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 8 << 20 };
static char *window_memory, *allocated, *out, *in;

static long status(const char *name)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            value = atol(line + strlen(name)) * 1024;
    if (file)
        fclose(file);
    return value;
}

static int all(const char *at, int value)
{
    for (int i = 0; i < N; i++)
        if (at[i] != (char)value)
            return 0;
    return 1;
}

static void set(int value)
{
    memset(window_memory, value, N);
    memset(allocated, value, N);
    memset(out, value, N);
    memset(in, value, N);
}

static int all_are(int value)
{
    return all(window_memory, value) && all(allocated, value) && all(out, value) && all(in, value);
}

static void stopped_child(const char *when)
{
    int code;
    set(1);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        int right = all_are(1);
        set(3);
        _exit(!right);
    }
    CHECK(pid > 0, "%s", when);
    CHECK(waitpid(pid, &code, WUNTRACED) == pid && WIFSTOPPED(code), "%s: %x", when, code);
    set(2);
    kill(pid, SIGCONT);
    CHECK(waitpid(pid, &code, 0) == pid && code == 0, "%s: the child ended with %x", when, code);
    CHECK(all_are(2), "%s", when);
}

static void limit(int kind, rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    CHECK(!setrlimit(kind, &limit));
}

static int ends[2];

static void *waits(void *argument)
{
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
    return argument;
}

/* While there are two threads, no copy is of one moment: the pages are frozen, or where the kernel refuses that, copied all the same. */
static void child_of_two_threads(void)
{
    pthread_t thread;
    CHECK(!pipe(ends) && !pthread_create(&thread, NULL, waits, NULL));
    limit(RLIMIT_DATA, 1 << 20);
    limit(RLIMIT_AS, 1 << 20);
    stopped_child("two threads, limits below what is used");
    limit(RLIMIT_DATA, RLIM_INFINITY);
    limit(RLIMIT_AS, RLIM_INFINITY);
    stopped_child("two threads");
    CHECK(write(ends[1], "x", 1) == 1 && !pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
    MPI_Win window;
    begin(&argc, &argv);
    window_memory = malloc(N), out = malloc(N), in = malloc(N);
    MPI_Alloc_mem(N, MPI_INFO_NULL, &allocated);
    set(0);
    MPI_Win_create(window_memory, N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int i = 0; i < 20; i++)
        MPI_Sendrecv(out, N, MPI_BYTE, rank ^ 1, 0, in, N, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    stopped_child("no limits");
    /* What is added to a mapping after its last message: nothing was set aside for the copy of that part. */
    out = realloc(out, 3 * (size_t)N);
    memset(out + N, 1, 2 * (size_t)N);
    limit(RLIMIT_AS, (rlim_t)status("VmSize:") + 65536);
    stopped_child("memory has grown, address space limited");
    limit(RLIMIT_AS, RLIM_INFINITY);
    limit(RLIMIT_DATA, (rlim_t)status("VmData:") + 65536);
    stopped_child("data limited");
    limit(RLIMIT_AS, (rlim_t)status("VmSize:") + 65536);
    stopped_child("address space limited");
    limit(RLIMIT_DATA, 1 << 20);
    limit(RLIMIT_AS, 1 << 20);
    stopped_child("limits below what is used");
    limit(RLIMIT_DATA, RLIM_INFINITY);
    limit(RLIMIT_AS, RLIM_INFINITY);
    child_of_two_threads();
    MPI_Barrier(MPI_COMM_WORLD);
    /* And the peer still reaches the window. */
    char byte = 9;
    MPI_Win_fence(0, window);
    MPI_Put(&byte, 1, MPI_BYTE, rank ^ 1, 4097, 1, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    CHECK(window_memory[4097] == 9);
    MPI_Win_free(&window);
    MPI_Free_mem(allocated);
    return finish();
}
