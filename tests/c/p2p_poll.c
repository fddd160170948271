// ranks: 4
// nodes: 1
// A program that calls MPI_Test or MPI_Iprobe in a loop may do its work between two of them: where ranks are more than
// cores it passes its core on now and then, not after every call. (Where each rank has a core it never does.)
#include "counter.h"

int main(int argc, char **argv)
{
    enum { LOOKS = 3000 };
    int flag, value = rank;
    MPI_Request request;
    begin(&argc, &argv);
    MPI_T_pvar_handle yields = counter("yields");

    for (int probe = 0; probe < 2; probe++) {
        if (!probe) OK(MPI_Irecv(&value, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        /* Until all have left the barrier and none sleeps. */
        for (double start = MPI_Wtime(); MPI_Wtime() < start + 0.1;) continue;
        number before = counted(yields);
        for (int look = 0; look < LOOKS; look++) {
            flag = 1;
            if (probe)
                MPI_Iprobe(rank, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            else
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            if (flag) break;
        }
        number after = counted(yields);
        CHECK(!flag, "nothing was sent");
        CHECK(after - before <= LOOKS / 10, "%llu times in %d looks", after - before, LOOKS);
        if (!probe) {
            OK(MPI_Send(&rank, 1, MPI_INT, rank, 7, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(value == rank, "%d", value);
        }
    }
    end_counting();
    return finish();
}
