// Several threads meet processes of other jobs at once, each at a port of its own, while others spawn, all under equal numbers.
// ranks: 2
// flags: -pthread
// timeout: 120
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, MEETINGS = 6, SPAWNS = 2 };
static char ports[THREADS][MPI_MAX_PORT_NAME], *self;
static MPI_Comm own[2 * THREADS];
static int bad[2 * THREADS];

#define GOOD(call) bad[me] += (call) != MPI_SUCCESS

/* The intercommunicator works, and so does what is merged from it. */
static void use(int me, MPI_Comm inter, int high)
{
    MPI_Comm both;
    int mine = me, got = -1, size_of_both = 0;
    GOOD(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE));
    bad[me] += got != mine;
    GOOD(MPI_Intercomm_merge(inter, high, &both));
    GOOD(MPI_Comm_size(both, &size_of_both));
    bad[me] += size_of_both != 2;
    GOOD(MPI_Comm_free(&both));
    GOOD(MPI_Comm_disconnect(&inter));
}

static void *meet(void *argument)
{
    int me = (int)(long)argument;
    MPI_Comm inter;
    for (int round = 0; round < MEETINGS; round++) {
        if (rank == 0)
            GOOD(MPI_Comm_accept(ports[me], MPI_INFO_NULL, 0, own[me], &inter));
        else
            GOOD(MPI_Comm_connect(ports[me], MPI_INFO_NULL, 0, own[me], &inter));
        use(me, inter, rank);
    }
    return NULL;
}

static void *start(void *argument)
{
    int me = (int)(long)argument;
    char text[10], *arguments[] = {text, NULL};
    MPI_Comm inter;
    snprintf(text, sizeof text, "%d", me);
    for (int round = 0; round < SPAWNS; round++) {
        GOOD(MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, own[me], &inter, MPI_ERRCODES_IGNORE));
        use(me, inter, 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm parent;
    pthread_t threads[2 * THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    self = argv[0];
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        int me = atoi(argv[1]);
        use(me, parent, 1);
        CHECK(bad[me] == 0, "the child of thread %d", me);
        return finish();
    }
    for (int i = 0; i < THREADS && rank == 0; i++)
        OK(MPI_Open_port(MPI_INFO_NULL, ports[i]));
    OK(MPI_Bcast(ports, sizeof ports, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int i = 0; i < 2 * THREADS; i++)
        OK(MPI_Comm_dup(MPI_COMM_SELF, &own[i]));
    for (long i = 0; i < 2 * THREADS; i++)
        pthread_create(&threads[i], NULL, i < THREADS ? meet : start, (void *)i);
    for (int i = 0; i < 2 * THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2 * THREADS; i++) {
        CHECK(bad[i] == 0, "thread %d: %d wrong", i, bad[i]);
        OK(MPI_Comm_free(&own[i]));
    }
    for (int i = 0; i < THREADS && rank == 0; i++)
        OK(MPI_Close_port(ports[i]));
    return finish();
}
