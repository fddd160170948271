// ranks: 1
// mpiexec: -x TERN_SPIN=100
// flags: -pthread
// A thread that sleeps inside MPI is woken at once by what another thread does that needs no message of another process.
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 8 };
/* Seconds within which a thread goes on that is woken; one that is not has at least twice as long to sleep. */
static const double SOON = 10e-3;

static int data, room;
static MPI_Request awaited;
static double woken;

static void *waits(void *unused)
{
    OK(MPI_Wait(&awaited, MPI_STATUS_IGNORE));
    woken = MPI_Wtime();
    return unused;
}

static void *probes(void *unused)
{
    OK(MPI_Probe(0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    woken = MPI_Wtime();
    return unused;
}

static int query(void *unused, MPI_Status *status)
{
    (void)unused;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int let_go(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

static int cancel(void *unused, int complete)
{
    (void)unused, (void)complete;
    return MPI_SUCCESS;
}

static void send(void) { OK(MPI_Send(&data, 1, MPI_INT, 0, 1, MPI_COMM_SELF)); }
static void receive(void) { OK(MPI_Recv(&room, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)); }
static void nothing(void) {}

static void begin_receive(void) { OK(MPI_Irecv(&room, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &awaited)); }
static void begin_synchronous(void) { OK(MPI_Issend(&data, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &awaited)); }
static void begin_generalized(void) { OK(MPI_Grequest_start(query, let_go, cancel, NULL, &awaited)); }

static void begin_partitioned(void)
{
    OK(MPI_Psend_init(&data, 1, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, MPI_INFO_NULL, &awaited));
    OK(MPI_Start(&awaited));
}

/* By a copy: the handle belongs to the thread that waits. */
static MPI_Request shown;
static void cancel_it(void) { OK(MPI_Cancel(&shown)); }
static void complete_it(void) { OK(MPI_Grequest_complete(shown)); }
static void ready_it(void) { OK(MPI_Pready(0, shown)); }
static void free_it(void) { OK(MPI_Request_free(&awaited)); }

static void check(const char *what, void (*first)(void), void *(*sleeps)(void *), void (*wake)(void), void (*last)(void))
{
    int late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        first();
        shown = awaited;
        pthread_create(&thread, NULL, sleeps, NULL);
        usleep(20000 + 1000 * round);
        double begun = MPI_Wtime();
        wake();
        pthread_join(thread, NULL);
        late += woken - begun > SOON;
        last();
    }
    CHECK(late < ROUNDS / 2, "%s: %d of %d", what, late, ROUNDS);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check("a message", begin_receive, waits, send, nothing);
    check("a message to be probed", nothing, probes, send, receive);
    check("a synchronous send", begin_synchronous, waits, receive, nothing);
    check("a cancelled receive", begin_receive, waits, cancel_it, nothing);
    check("a generalized request", begin_generalized, waits, complete_it, nothing);
    check("a partitioned send", begin_partitioned, waits, ready_it, free_it);
    return finish();
}
