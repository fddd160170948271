// ranks: 2 3 4
// flags: -pthread
// mpiexec: -x TERN_PROMOTE=always
// timeout: 120
// One thread communicates, by messages or by a collective in shared memory, and another one forks, at whatever moment that is
// for the first: memory that is shared in place becomes private under its hands. In one half of the processes the thread that
// forks might call MPI as well.
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 40000, WINDOW = 4, BEFORE = 50, ROUNDS = 200, FORKS = 10 };

static long *in[WINDOW], *out[WINDOW], *sum;
static unsigned wrong;

static void *forks(void *unused)
{
    usleep((unsigned)getpid() * 7919u % 5000);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    }
    return unused;
}

static void set(long *data, long value)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = value;
}

static void check(const long *data, long value)
{
    for (int i = 0; i < COUNT; i++)
        if (data[i] != value) {
            wrong++;
            return;
        }
}

static void messages(long value)
{
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        set(in[i], -1);
        OK(MPI_Irecv(in[i], COUNT, MPI_LONG, rank ^ 1, 1, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < WINDOW; i++) {
        set(out[i], value + i);
        OK(MPI_Isend(out[i], COUNT, MPI_LONG, rank ^ 1, 1, MPI_COMM_WORLD, &requests[WINDOW + i]));
    }
    OK(MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < WINDOW; i++)
        check(in[i], value + i);
}

static void reduction(long value)
{
    set(out[0], value);
    OK(MPI_Allreduce(out[0], sum, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    check(sum, value * size);
}

int main(int argc, char **argv)
{
    const char *number = getenv("TERN_RANK");
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, number && atoi(number) % 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < WINDOW; i++) {
        in[i] = malloc(COUNT * sizeof *in[i]);
        out[i] = malloc(COUNT * sizeof *out[i]);
    }
    sum = malloc(COUNT * sizeof *sum);
    for (int round = 0; round < ROUNDS; round++) {
        if (round == BEFORE)
            CHECK(pthread_create(&thread, NULL, forks, NULL) == 0);
        if (size == 2)
            messages(round);
        else
            reduction(round);
    }
    pthread_join(thread, NULL);
    CHECK(wrong == 0, "%u", wrong);
    return finish();
}
