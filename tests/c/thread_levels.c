// ranks: 1 2
// flags: -pthread
// Thread levels: what is asked for is given, the main thread knows that it is the main one.
#include "check.h"
#include <pthread.h>

static void *not_main(void *argument)
{
    MPI_Is_thread_main(argument);
    return NULL;
}

int main(int argc, char **argv)
{
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    int provided = -1, level = -1, flag = 0;
    int asked = levels[argc > 1 ? atoi(argv[1]) : 2];
    OK(MPI_Init_thread(&argc, &argv, asked, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(provided >= asked, "%d", provided);
    OK(MPI_Query_thread(&level));
    CHECK(level == provided);
    OK(MPI_Is_thread_main(&flag));
    CHECK(flag);
    pthread_t thread;
    pthread_create(&thread, NULL, not_main, &flag);
    pthread_join(thread, NULL);
    CHECK(!flag);
    return finish();
}
