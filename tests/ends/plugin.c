// A part of a program that is opened and closed: it is the only one that is linked with MPI. Its destructor ends MPI, in a child of
// fork as well.
#include "ends.h"

void run(void);
void run(void)
{
    begin(NULL, NULL, MPI_THREAD_MULTIPLE);
    child_exits();
    late(0);
}

__attribute__((destructor)) static void end(void) { meet_and_finalize(); }
