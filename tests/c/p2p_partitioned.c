// ranks: 1 2 3
// Partitioned communication: partitions in any order, cut differently at both ends, several
// operations with the same peer and tag, MPI_PROC_NULL, wrong arguments.
#include "check.h"

#define ROUNDS 3
#define N 24

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int out[2][N], in[2][N], flag;
    MPI_Request send[2], receive[2];
    MPI_Status status;

    /* Two operations with the same peer and tag are matched in the order of initialisation, whatever
     * the order of starting. The receives are initialised first at odd ranks. */
    for (int step = 0; step < 2; step++)
        if (step == rank % 2)
            for (int i = 0; i < 2; i++)
                OK(MPI_Psend_init(out[i], 6, N / 6, MPI_INT, to, 5, comm, MPI_INFO_NULL, &send[i]));
        else
            for (int i = 0; i < 2; i++)
                OK(MPI_Precv_init(in[i], 4, N / 4, MPI_INT, from, 5, comm, MPI_INFO_NULL, &receive[i]));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, send[0]));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < N; k++)
                out[i][k] = rank * 1000 + round * 100 + i * 50 + k, in[i][k] = -1;
        OK(MPI_Start(&receive[1]));
        OK(MPI_Start(&receive[0]));
        OK(MPI_Start(&send[1]));
        for (int part = 5; part >= 0; part--)
            OK(MPI_Pready(part, send[1]));
        if (round == 0) {
            FAILS(MPI_ERR_ARG, MPI_Pready(5, send[1]));
            FAILS(MPI_ERR_ARG, MPI_Pready(6, send[1]));
            FAILS(MPI_ERR_REQUEST, MPI_Pready(0, receive[1]));
            FAILS(MPI_ERR_ARG, MPI_Parrived(receive[1], 4, &flag));
            FAILS(MPI_ERR_REQUEST, MPI_Parrived(send[1], 0, &flag));
        }
        OK(MPI_Wait(&receive[1], &status));
        CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 5, "%d %d", status.MPI_SOURCE, status.MPI_TAG);
        OK(MPI_Parrived(receive[0], 0, &flag));
        CHECK(!flag);
        OK(MPI_Barrier(comm));
        OK(MPI_Start(&send[0]));
        OK(MPI_Pready_range(1, 3, send[0]));
        OK(MPI_Pready_list(3, (int[]){5, 0, 4}, send[0]));
        for (flag = 0; !flag;)
            OK(MPI_Parrived(receive[0], 3, &flag));
        OK(MPI_Request_get_status(receive[0], &flag, &status));
        CHECK(flag && status.MPI_SOURCE == from && status.MPI_TAG == 5, "%d %d", status.MPI_SOURCE, status.MPI_TAG);
        int count;
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == N, "%d", count);
        OK(MPI_Wait(&receive[0], MPI_STATUS_IGNORE));
        OK(MPI_Waitall(2, send, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < N; k++)
                CHECK(in[i][k] == from * 1000 + round * 100 + i * 50 + k, "%d %d: %d", i, k, in[i][k]);
    }
    OK(MPI_Parrived(receive[0], 0, &flag));
    CHECK(flag);
    for (int i = 0; i < 2; i++) {
        OK(MPI_Request_free(&send[i]));
        OK(MPI_Request_free(&receive[i]));
        CHECK(send[i] == MPI_REQUEST_NULL && receive[i] == MPI_REQUEST_NULL);
    }

    /* Initialised and never started: what comes later on the same tag is matched with the later one. */
    OK(MPI_Psend_init(out[0], 1, 1, MPI_INT, to, 5, comm, MPI_INFO_NULL, &send[0]));
    OK(MPI_Precv_init(in[0], 1, 1, MPI_INT, from, 5, comm, MPI_INFO_NULL, &receive[0]));
    OK(MPI_Psend_init_c(out[1], 2, 1, MPI_INT, to, 5, comm, MPI_INFO_NULL, &send[1]));
    OK(MPI_Precv_init_c(in[1], 1, 2, MPI_INT, from, 5, comm, MPI_INFO_NULL, &receive[1]));
    out[1][0] = 7 + rank, out[1][1] = 8 + rank;
    OK(MPI_Startall(1, &send[1]));
    OK(MPI_Startall(1, &receive[1]));
    OK(MPI_Pready_range(0, 1, send[1]));
    OK(MPI_Wait(&send[1], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive[1], MPI_STATUS_IGNORE));
    CHECK(in[1][0] == 7 + from && in[1][1] == 8 + from, "%d %d", in[1][0], in[1][1]);
    for (int i = 0; i < 2; i++) {
        OK(MPI_Request_free(&send[i]));
        OK(MPI_Request_free(&receive[i]));
    }

    OK(MPI_Psend_init(out[0], 2, 1, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_INFO_NULL, &send[0]));
    OK(MPI_Precv_init(in[0], 2, 1, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_INFO_NULL, &receive[0]));
    OK(MPI_Start(&send[0]));
    OK(MPI_Start(&receive[0]));
    OK(MPI_Pready_range(0, 1, send[0]));
    OK(MPI_Wait(&send[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive[0], &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Request_free(&send[0]));
    OK(MPI_Request_free(&receive[0]));

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_RANK, MPI_Precv_init(in[0], 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_INFO_NULL, &receive[0]));
    FAILS(MPI_ERR_TAG, MPI_Precv_init(in[0], 1, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_INFO_NULL, &receive[0]));
    FAILS(MPI_ERR_ARG, MPI_Psend_init(out[0], -1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send[0]));
    OK(MPI_Comm_free(&comm));
    return finish();
}
