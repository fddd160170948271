// MPI in the destructor of a thread_local object and in that of a key, of threads that end, and of the main thread.
// A child of fork ends in one of them.
#include "ends.h"
#include <pthread.h>
#include <thread>

struct Object {
    int used = 0;
    ~Object() { late(0); }
};
static thread_local Object object;

static pthread_key_t key;
static void end_of_key(void *) { late(0); }

int main(int argc, char **argv)
{
    begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    pthread_key_create(&key, end_of_key);
    for (int times = 0; times < 2; times++) {
        std::thread thread([] {
            object.used = 1;
            pthread_setspecific(key, &own_rank);
            late(0);
            child_exits();
        });
        thread.join();
    }
    // Of the main thread the object goes before exit handlers run.
    object.used = 1;
    std::atexit(meet_and_finalize);
    child_exits();
    return 0;
}
