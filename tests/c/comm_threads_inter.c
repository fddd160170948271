// Threads that connect the same two groups at the same time, under equal tags, each over communicators of its own; beside
// them communicators from groups, windows, files and topologies are made.
// ranks: 2 4
// flags: -pthread
// timeout: 120
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 8, TAG = 99 };

/* What each thread has: all processes, and its half of them. */
static struct { MPI_Comm all, half; } own[THREADS];
static MPI_Comm shared, shared_half;
static MPI_Group world, mine, other;
static MPI_Session session;
static int bad[THREADS + 2];
static char file_names[THREADS][200];

/* Counts calls that fail, and sums that are wrong. */
#define GOOD(where, call) bad[where] += (call) != MPI_SUCCESS

static void add(int where, MPI_Comm comm, int expected)
{
    int one = 1, sum = 0;
    GOOD(where, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    bad[where] += sum != expected;
    GOOD(where, MPI_Comm_free(&comm));
}

static int high(void) { return rank >= size / 2; }

/* The rank of the other half's leader among all. */
static int leader(void) { return high() ? 0 : size / 2; }

static void intercommunicators(int me)
{
    MPI_Comm inter, copy, merged;
    GOOD(me, MPI_Intercomm_create(own[me].half, 0, own[me].all, leader(), TAG, &inter));
    GOOD(me, MPI_Intercomm_merge(inter, high(), &merged));
    GOOD(me, MPI_Comm_dup(inter, &copy));
    GOOD(me, MPI_Comm_free(&inter));
    add(me, copy, size / 2);
    add(me, merged, size);
}

static void groups(int me)
{
    MPI_Comm comm;
    char tag[40];
    GOOD(me, MPI_Comm_create_group(own[me].all, mine, TAG, &comm));
    add(me, comm, size / 2);
    snprintf(tag, sizeof tag, "org.tern.thread%d", me);
    GOOD(me, MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    add(me, comm, size);
    GOOD(me, MPI_Intercomm_create_from_groups(mine, 0, other, 0, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    add(me, comm, size / 2);
}

static void others(int me)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    int *base, nodes, period = 0, from = (rank + size - 1) % size, to = (rank + 1) % size;
    GOOD(me, MPI_Comm_idup(own[me].all, &comm, &request));
    GOOD(me, MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, own[me].half, &base, &win));
    GOOD(me, MPI_Wait(&request, MPI_STATUS_IGNORE));
    add(me, comm, size);
    GOOD(me, MPI_Comm_split_type(own[me].all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    GOOD(me, MPI_Comm_size(comm, &nodes));
    add(me, comm, nodes);
    GOOD(me, MPI_Cart_create(own[me].all, 1, &size, &period, 0, &comm));
    add(me, comm, size);
    GOOD(me, MPI_Dist_graph_create_adjacent(own[me].all, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    add(me, comm, size);
    GOOD(me, MPI_File_open(own[me].all, file_names[me], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    GOOD(me, MPI_File_close(&file));
    GOOD(me, MPI_Win_free(&win));
}

static void *work(void *argument)
{
    int me = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        intercommunicators(me);
        groups(me);
        others(me);
    }
    return NULL;
}

/* A group and two leaders use one tag of one communicator at a time: neither call is for the other. */
static void *grouping(void *unused)
{
    for (int round = 0; round < 4 * ROUNDS; round++) {
        MPI_Comm comm;
        GOOD(THREADS, MPI_Comm_create_group(shared, world, TAG, &comm));
        add(THREADS, comm, size);
    }
    return unused;
}

static void *leading(void *unused)
{
    for (int round = 0; round < 4 * ROUNDS; round++) {
        MPI_Comm comm;
        GOOD(THREADS + 1, MPI_Intercomm_create(shared_half, 0, shared, leader(), TAG, &comm));
        add(THREADS + 1, comm, size / 2);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS + 2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    int lower[1][3] = {{0, size / 2 - 1, 1}}, upper[1][3] = {{size / 2, size - 1, 1}};
    OK(MPI_Group_range_incl(world, 1, high() ? upper : lower, &mine));
    OK(MPI_Group_range_incl(world, 1, high() ? lower : upper, &other));
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i].all));
        OK(MPI_Comm_split(own[i].all, high(), rank, &own[i].half));
        long key = rank == 0 ? (long)argv : 0;
        OK(MPI_Bcast(&key, 1, MPI_LONG, 0, MPI_COMM_WORLD));
        snprintf(file_names[i], sizeof file_names[i], "%s.%lx.%d", argv[0], key, i);
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &shared));
    OK(MPI_Comm_split(shared, high(), rank, &shared_half));

    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(high() ? THREADS - 1 - i : i)); /* another order at each half */
    pthread_create(&threads[THREADS], NULL, grouping, NULL);
    pthread_create(&threads[THREADS + 1], NULL, leading, NULL);
    for (int i = 0; i < THREADS + 2; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < THREADS + 2; i++)
        CHECK(bad[i] == 0, "thread %d: %d wrong", i, bad[i]);
    for (int i = 0; i < THREADS; i++) {
        OK(MPI_Comm_free(&own[i].all));
        OK(MPI_Comm_free(&own[i].half));
    }
    OK(MPI_Comm_free(&shared));
    OK(MPI_Comm_free(&shared_half));
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&mine));
    OK(MPI_Group_free(&other));
    OK(MPI_Session_finalize(&session));
    return finish();
}
