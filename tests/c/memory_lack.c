// ranks: 2
// expect-exit: nonzero
// expect-output: MPI_ERR_NO_MEM: rank 0 cannot have [0-9]* bytes of memory for the library
// A process has no memory for what a call that has begun needs: the job ends with a line that says so, and what limits it.
#define _GNU_SOURCE
#include "check.h"
#include <sys/resource.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    enum { COUNT = 40 << 20 };
    int *in = calloc(COUNT, sizeof *in), *out = calloc(COUNT, sizeof *out);
    if (rank == 0) {
        long pages = 0;
        FILE *file = fopen("/proc/self/statm", "r");
        CHECK(file && fscanf(file, "%ld", &pages) == 1);
        struct rlimit limit = {(rlim_t)pages * 4096 + (24 << 20), RLIM_INFINITY};
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    }
    (void)in;
    MPI_Alltoall(MPI_IN_PLACE, COUNT / size, MPI_INT, out, COUNT / size, MPI_INT, MPI_COMM_WORLD);
    MPI_Scan(MPI_IN_PLACE, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
