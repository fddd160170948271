// Requests that are freed, started, cancelled or marked while it is not their turn.
// ranks: 1 2 3
#include "check.h"

static MPI_Comm comm;
static int to, from;

/* What the program goes on with afterwards is as if the wrong call had not been. */
static void partitioned(void)
{
    int out[4] = {rank, 1, 2, 3}, in[4] = {-1, -1, -1, -1}, flag = 0;
    MPI_Request send, receive;
    OK(MPI_Psend_init(out, 2, 2, MPI_INT, to, 3, comm, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, 2, 2, MPI_INT, from, 3, comm, MPI_INFO_NULL, &receive));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&send));
    OK(MPI_Parrived(receive, 0, &flag));
    CHECK(flag);
    OK(MPI_Start(&receive));
    OK(MPI_Start(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Startall(1, &receive));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&receive));
    CHECK(send != MPI_REQUEST_NULL && receive != MPI_REQUEST_NULL);
    OK(MPI_Pready(0, send));
    FAILS(MPI_ERR_ARG, MPI_Pready(0, send));
    FAILS(MPI_ERR_ARG, MPI_Pready(-1, send));
    FAILS(MPI_ERR_ARG, MPI_Pready_range(1, 0, send));
    FAILS(MPI_ERR_ARG, MPI_Pready_list(-1, (int[]){1}, send));
    FAILS(MPI_ERR_ARG, MPI_Pready_list(1, NULL, send));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(1, receive));
    FAILS(MPI_ERR_REQUEST, MPI_Parrived(send, 0, &flag));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&receive));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&send));
    OK(MPI_Barrier(comm)); /* until here nobody had all parts, so no receive was complete */
    OK(MPI_Pready(1, send));
    for (flag = 0; !flag;) OK(MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE));
    CHECK(in[0] == from && in[3] == 3, "%d %d", in[0], in[3]);
    /* It is complete, though the program has not seen that yet. */
    OK(MPI_Request_free(&receive));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(1, send));
    OK(MPI_Request_free(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(1, MPI_REQUEST_NULL));
}

static void collective(void)
{
    int one = 1, sum = 0, more = 0, flag;
    MPI_Request request, again;
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, request));
    FAILS(MPI_ERR_REQUEST, MPI_Parrived(request, 0, &flag));
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == size && request == MPI_REQUEST_NULL);

    OK(MPI_Allreduce_init(&one, &more, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &again));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&again));
    OK(MPI_Start(&again));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&again));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&again));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&again));
    OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
    CHECK(more == size, "%d", more);
    OK(MPI_Request_free(&again));
}

/* Messages may be given up at any time, and take place nevertheless. */
static void messages(void)
{
    int out = rank, in = -1, last = -1;
    MPI_Request send, receive;
    OK(MPI_Send_init(&out, 1, MPI_INT, to, 4, comm, &send));
    OK(MPI_Recv_init(&in, 1, MPI_INT, from, 4, comm, &receive));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&receive));
    FAILS(MPI_ERR_REQUEST, MPI_Pready(0, send));
    OK(MPI_Start(&receive));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&receive));
    OK(MPI_Start(&send));
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    CHECK(send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL);
    OK(MPI_Sendrecv(&out, 1, MPI_INT, to, 4, &last, 1, MPI_INT, from, 4, comm, MPI_STATUS_IGNORE));
    CHECK(in == from && last == from, "%d %d", in, last);
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&send));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&send));
    OK(MPI_Irecv(&in, 1, MPI_INT, from, 5, comm, &receive));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&receive));
    OK(MPI_Send(&out, 1, MPI_INT, to, 5, comm));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    partitioned();
    collective();
    messages();
    OK(MPI_Comm_free(&comm));
    return finish();
}
