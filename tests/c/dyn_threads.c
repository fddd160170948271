// One thread waits at a port, another one communicates, a third spawns.
// ranks: 2
// flags: -pthread
#include "check.h"
#include <pthread.h>

static char port[MPI_MAX_PORT_NAME], *self;
static MPI_Comm own, other;

static void exchange(MPI_Comm inter, int mark)
{
    int got = -1;
    OK(MPI_Sendrecv(&mark, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    CHECK(got == 12 - mark, "%d", got);
    OK(MPI_Comm_disconnect(&inter));
}

static void *meet(void *unused)
{
    MPI_Comm inter;
    for (int round = 0; round < 10; round++) {
        if (rank == 0)
            OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, own, &inter));
        else
            OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, own, &inter));
        exchange(inter, 4 + 4 * rank);
    }
    return unused;
}

static void *start(void *unused)
{
    MPI_Comm inter;
    for (int round = 0; round < 5; round++) {
        OK(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, other, &inter, MPI_ERRCODES_IGNORE));
        exchange(inter, 5);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm parent;
    pthread_t waiting, spawning;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    self = argv[0];
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        exchange(parent, 7);
        return finish();
    }
    if (rank == 0)
        OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &own));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &other));
    /* Rank 0 waits at the port while rank 1 has not even begun. */
    if (rank == 0)
        pthread_create(&waiting, NULL, meet, NULL);
    pthread_create(&spawning, NULL, start, NULL);
    for (int i = 0; i < 2000; i++) {
        int sum;
        OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == 2 * i);
    }
    if (rank == 1)
        pthread_create(&waiting, NULL, meet, NULL);
    pthread_join(waiting, NULL);
    pthread_join(spawning, NULL);
    OK(MPI_Comm_free(&own));
    OK(MPI_Comm_free(&other));
    return finish();
}
