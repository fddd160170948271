// ranks: 2
// expect-exit: nonzero
// expect-output: MPI_ERR_NO_MEM: rank 0 cannot have [0-9]* bytes of memory for the library in MPI_Info_set, and ends the job; its address space
// A process has no memory for the library's own books: the job ends with a line that says so, in which call, and what limits it.
#define _GNU_SOURCE
#include "limit.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Info info;
    MPI_Info_create(&info);
    if (rank == 0) {
        limit_to(0);
        for (size_t some = 1 << 20; some >= 16; some /= 2)
            while (malloc(some))
                ;
        for (int key = 0; key < 1000000; key++) {
            char name[20];
            snprintf(name, sizeof name, "key%d", key);
            MPI_Info_set(info, name, "a value that is too long for a place beside its length");
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
