// MPI_Finalize in the destructor of a static object, as programs in C++ do; in a child of fork, too.
#include "ends.h"
struct Environment {
    ~Environment() { meet_and_finalize(); }
} environment;

int main(int argc, char **argv)
{
    begin(&argc, &argv, MPI_THREAD_SINGLE);
    child_exits();
    late(0);
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
