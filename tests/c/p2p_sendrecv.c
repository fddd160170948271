// ranks: 1 2 3 4
// Send and receive in one call, in place, nonblocking, and with nobody at one end.
#include "check.h"

static void around(int n)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count, wrong;
    int *out = malloc((n + 1) * sizeof(int)), *in = malloc((n + 1) * sizeof(int));
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < n; i++) out[i] = rank * 10 + i;

    OK(MPI_Sendrecv(out, n, MPI_INT, right, 1, in, n, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == n && status.MPI_SOURCE == left && status.MPI_TAG == 1);
    wrong = 0;
    for (int i = 0; i < n; i++) wrong += in[i] != left * 10 + i;
    CHECK(wrong == 0, "%d of %d", wrong, n);

    memset(in, 0, n * sizeof(int));
    OK(MPI_Isendrecv(out, n, MPI_INT, right, 2, in, n, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    /* MPICH leaves the statuses of these empty. */
    CHECK(!strict() || (count == n && status.MPI_SOURCE == left && status.MPI_TAG == 2));
    wrong = 0;
    for (int i = 0; i < n; i++) wrong += in[i] != left * 10 + i;
    CHECK(wrong == 0, "%d of %d", wrong, n);

    memcpy(in, out, n * sizeof(int));
    OK(MPI_Sendrecv_replace(in, n, MPI_INT, right, 3, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 3);
    wrong = 0;
    for (int i = 0; i < n; i++) wrong += in[i] != left * 10 + i;
    CHECK(wrong == 0, "%d of %d", wrong, n);

    memcpy(in, out, n * sizeof(int));
    OK(MPI_Isendrecv_replace(in, n, MPI_INT, left, 4, right, 4, MPI_COMM_WORLD, &request));
    /* Asking for the status ends nothing, however often. */
    for (int asked = 0, flag = 0; asked < 2; asked += flag) OK(MPI_Request_get_status(request, &flag, &status));
    OK(MPI_Wait(&request, &status));
    CHECK(!strict() || (status.MPI_SOURCE == right && status.MPI_TAG == 4));
    wrong = 0;
    for (int i = 0; i < n; i++) wrong += in[i] != right * 10 + i;
    CHECK(wrong == 0, "%d of %d", wrong, n);
    free(out);
    free(in);
}

/* Replacing data with gaps leaves the gaps alone. */
static void replace_with_gaps(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, cells[40];
    MPI_Datatype pairs;
    OK(MPI_Type_vector(10, 2, 4, MPI_INT, &pairs));
    OK(MPI_Type_commit(&pairs));
    for (int i = 0; i < 40; i++) cells[i] = rank * 100 + i;
    OK(MPI_Sendrecv_replace(cells, 1, pairs, right, 0, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 40; i++) CHECK(cells[i] == (i % 4 < 2 ? left : rank) * 100 + i, "at %d", i);
    OK(MPI_Type_free(&pairs));
}

/* A line of processes: the ends have nobody beyond them. */
static void along_a_line(void)
{
    int below = rank == 0 ? MPI_PROC_NULL : rank - 1, above = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
    int in = -5, out = rank, count = 9;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, above, 0, &in, 1, MPI_INT, below, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    if (below == MPI_PROC_NULL)
        CHECK(in == -5 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    else
        CHECK(in == below && count == 1 && status.MPI_SOURCE == below);
    in = rank;
    OK(MPI_Sendrecv_replace(&in, 1, MPI_INT, below, 0, above, 0, MPI_COMM_WORLD, &status));
    CHECK(in == (above == MPI_PROC_NULL ? rank : above));
    OK(MPI_Isendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(!strict() || status.MPI_SOURCE == MPI_PROC_NULL);
    in = rank;
    OK(MPI_Isendrecv_replace(&in, 1, MPI_INT, above, 7, below, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(in == (below == MPI_PROC_NULL ? rank : below));
}

static void nobody(void)
{
    int x = 6, count = 3;
    MPI_Status status;
    MPI_Request requests[2];
    OK(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Ssend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Rsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(x == 6 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Issend(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

/* What is under way when its request is freed still takes place, with the data of the call. */
static void freed(int n)
{
    if (size < 2 || rank > 1) return;
    int other = 1 - rank, wrong = 0, there = 0;
    int *cells = malloc(n * sizeof(int));
    MPI_Request request;
    for (int i = 0; i < n; i++) cells[i] = rank == 0 ? i : -1;
    if (rank == 0) {
        OK(MPI_Isendrecv_replace(cells, n, MPI_INT, other, 5, other, 5, MPI_COMM_WORLD, &request));
        OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
        /* The library's copy must not be among what can be had again. */
        char *others = malloc(n * sizeof(int));
        memset(others, 0xee, n * sizeof(int));
        OK(MPI_Send(others, 1, MPI_BYTE, other, 6, MPI_COMM_WORLD));
        free(others);
        for (volatile int *last = cells + n - 1; *last != -(n - 1);)
            OK(MPI_Iprobe(other, 7, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
        OK(MPI_Recv(NULL, 0, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(&there, 1, MPI_BYTE, other, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(cells, n, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < n; i++) wrong += cells[i] != i;
        CHECK(wrong == 0, "%d of %d", wrong, n);
        for (int i = 0; i < n; i++) cells[i] = -i;
        OK(MPI_Send(cells, n, MPI_INT, other, 5, MPI_COMM_WORLD));
        OK(MPI_Send(NULL, 0, MPI_INT, other, 7, MPI_COMM_WORLD));
    }
    free(cells);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int n = 0; n < 1000000; n = n * 7 + 1) around(n);
    replace_with_gaps();
    along_a_line();
    nobody();
    freed(1000);
    freed(30000);
    freed(1000000);
    return finish();
}
