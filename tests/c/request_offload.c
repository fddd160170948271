// ranks: 2
// timeout: 120
// mpiexec: -x TERN_OFFLOAD=thread
// A thread of the library copies long messages while neither rank calls MPI: of a send that finds its receive, of a receive that finds its
// message waiting, and of an alltoall that does not block.
// With TERN_OFFLOAD=module the kernel module does so, out of private memory and into it.
// With OFFLOAD_THREADS the program has a thread of its own; with OFFLOAD_DIES rank 0 dies while rank 1 takes messages from it.
#include "counter.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 6 };

static volatile int *flag; /* in memory that both ranks see */
static int thread, module; /* TERN_OFFLOAD asks for the thread, or for the module, and that can do so */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* All bytes are there, without a call; 20 seconds are for what hangs. */
static int becomes(const volatile unsigned char *bytes, size_t length, unsigned char value)
{
    double end = now() + 20;
    for (size_t at = 0; at < length;)
        if (bytes[at] == value)
            at++;
        else if (now() > end)
            return 0;
    return 1;
}

/* Neither rank calls MPI until rank `last` has set the flag to `value`. */
static void no_calls_until(int last, int value)
{
    double end = now() + 20;
    __sync_synchronize();
    if (rank == last)
        *flag = value;
    while (*flag != value && now() < end)
        ;
}

static void one_way(unsigned char *buffer, size_t length, int late, int round, int beside)
{
    int tag = late ? 1 : 2;
    unsigned char value = (unsigned char)(7 * round + tag);
    MPI_Request request;
    memset(buffer, rank == 0 ? value : 0xff, length);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == (late ? 1 : 0)) /* whoever comes second: the other one has begun */
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 0)
        OK(MPI_Isend(buffer, (int)length, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request));
    else
        OK(MPI_Irecv(buffer, (int)length, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request));
    if (rank == (late ? 0 : 1))
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, 9, MPI_COMM_WORLD));
    if (rank == 1 && beside)
        CHECK(becomes(buffer, length, value), "%zu bytes, late %d, round %d", length, late, round);
    no_calls_until(1, 2 * (round + 1) + late);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void alltoall(unsigned char *out, unsigned char *in, size_t length, int round)
{
    MPI_Request request;
    memset(out, 'a' + rank, 2 * length);
    memset(in, 0, 2 * length);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1)
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Ialltoall(out, (int)length, MPI_BYTE, in, (int)length, MPI_BYTE, MPI_COMM_WORLD, &request));
    if (rank == 0)
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD));
    if (thread || module) {
        CHECK(becomes(in, length, 'a'), "from rank 0, %zu bytes", length);
        CHECK(becomes(in + length, length, 'b'), "from rank 1, %zu bytes", length);
    }
    no_calls_until(rank, 100 + round);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void *sleeps(void *nothing)
{
    for (;;)
        nanosleep(&(struct timespec){60, 0}, NULL);
    return nothing;
}

/* Rank 0 dies after its messages were asked for, and before all of them can have been taken. */
static void die(unsigned char *buffer, size_t length)
{
    enum { MESSAGES = 32 };
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++)
        if (rank == 0)
            OK(MPI_Isend(buffer, (int)length, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        raise(SIGKILL);
    for (int i = 0; i < MESSAGES; i++)
        OK(MPI_Irecv(buffer, (int)length, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    pthread_t other;
    static const size_t lengths[] = {1 << 20, (1 << 22) + 13, 1 << 24};
    MPI_Win window;
    MPI_Aint bytes;
    int unit;
    const char *asked = getenv("TERN_OFFLOAD"), *mechanism = getenv("TERN_MECHANISM");
    void *base;
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    OK(MPI_Win_shared_query(window, 0, &bytes, &unit, &base));
    flag = base;
    /* In packets, or by a module, there is nothing for the thread. */
    thread = asked && !strcmp(asked, "thread") && (!mechanism || !strcmp(mechanism, "auto") || !strcmp(mechanism, "cma"));
    module = asked && (!strcmp(asked, "module") || !strcmp(asked, "dma")) && access("/dev/tern", R_OK | W_OK) == 0;
    MPI_T_pvar_handle given_module = counter_of("offloaded_module_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle given = counter("offloaded"), given_bytes = counter_of("offloaded_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    number most = 0;
    if (getenv("OFFLOAD_THREADS"))
        pthread_create(&other, NULL, sleeps, NULL);
    for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++) {
        size_t length = lengths[at];
        unsigned char *shared, *own = malloc(2 * length);
        OK(MPI_Alloc_mem((MPI_Aint)(2 * length), MPI_INFO_NULL, &shared));
        for (int round = 0; round < ROUNDS; round++) {
            one_way(own, length, round % 2, round, thread || module);
            one_way(shared, length, round % 2, round + ROUNDS, thread);
            most += 2 * length;
        }
        if (getenv("OFFLOAD_DIES"))
            die(own, length);
        unsigned char *in = malloc(2 * length);
        alltoall(own, in, length, (int)at);
        most += 2 * length;
        free(in);
        free(own);
        OK(MPI_Free_mem(shared));
    }
    number mine[3] = {counted(given), counted(given_bytes), counted(given_module)}, all[3];
    OK(MPI_Allreduce(mine, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
        printf("given to the thread: %llu messages, %llu bytes of %llu\n", all[0], all[1], most);
    if (rank == 0 && module)
        printf("given to the module: %llu bytes of %llu\n", all[2], most);
    CHECK(!module || all[2] >= most / 3, "%llu bytes of %llu", all[2], most);
    CHECK(!thread || all[1] >= most * 3 / 4, "%llu bytes of %llu", all[1], most);
    CHECK(!asked || strcmp(asked, "off") || all[0] == 0, "%llu messages", all[0]);
    OK(MPI_Win_free(&window));
    end_counting();
    return finish();
}
