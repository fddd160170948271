// MPI_Finalize in an exit handler: a rank waits there for the other one, asleep. A child of fork ends by exit before.
#include "ends.h"

static pid_t parent;
static void finish(void)
{
    // As programs do, for a child has no MPI.
    if (getpid() == parent) meet_and_finalize();
}

int main(int argc, char **argv)
{
    int status;
    begin(&argc, &argv, MPI_THREAD_SINGLE);
    parent = getpid();
    atexit(finish);
    pid_t child = fork();
    if (child == 0) exit(0);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    late(0);
    return 0;
}
