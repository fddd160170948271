// ranks: 2 3 5
// A nonblocking collective does not meet a blocking one, even where ranks start the two in different orders. MPI
// forbids that, and programs do it all the same, since other libraries let them.
#include "check.h"

static int ones[1 << 16], sums[1 << 16];

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static const int counts[] = {1, 100, 1 << 16};
    for (int root = 0; root < size; root++)
        for (int k = 0; k < 3; k++) {
            int n = counts[k], bad = 0;
            MPI_Request request;
            for (int i = 0; i < n; i++) ones[i] = rank + i, sums[i] = -1;
            if (rank != root) OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Iallreduce(ones, sums, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
            if (rank == root) OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (int i = 0; i < n; i++) bad += sums[i] != size * (size - 1) / 2 + size * i;
            CHECK(!bad, "%d wrong of %d", bad, n);
        }
    return finish();
}
