// ranks: 4
// nodes: 1
// A program that calls MPI_Test or MPI_Iprobe in a loop may do its work between two of them: where ranks are more than
// cores it passes its core on now and then, not after every call. (Where each rank has a core it never does.)
#include "check.h"

int main(int argc, char **argv)
{
    enum { LOOKS = 3000 };
    int provided, index, count, flag, value = rank;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Request request;
    unsigned long long before, after;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_index("yields", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));

    for (int probe = 0; probe < 2; probe++) {
        if (!probe) OK(MPI_Irecv(&value, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        /* Until all have left the barrier and none sleeps. */
        for (double start = MPI_Wtime(); MPI_Wtime() < start + 0.1;) continue;
        OK(MPI_T_pvar_read(session, handle, &before));
        for (int look = 0; look < LOOKS; look++) {
            flag = 1;
            if (probe)
                MPI_Iprobe(rank, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            else
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            if (flag) break;
        }
        OK(MPI_T_pvar_read(session, handle, &after));
        CHECK(!flag, "nothing was sent");
        CHECK(after - before <= LOOKS / 10, "%llu times in %d looks", after - before, LOOKS);
        if (!probe) {
            OK(MPI_Send(&rank, 1, MPI_INT, rank, 7, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(value == rank, "%d", value);
        }
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return finish();
}
