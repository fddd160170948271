// MPI_Finalize in an exit handler: a rank waits there for the other one, asleep. A child of fork ends by exit before.
#include "ends.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv, MPI_THREAD_SINGLE);
    atexit(meet_and_finalize);
    child_exits();
    late(0);
    return 0;
}
