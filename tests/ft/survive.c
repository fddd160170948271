// A rank is killed, and the others go on: errors where they belong, receives that go on, agreement, revocation, shrinking.
// mpiexec --with-ft, 3 ranks or more; the last one is lost.
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) do { if (!(what)) { printf("rank %d, line %d: %s\n", rank, __LINE__, #what); fflush(stdout); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)

static int rank, size;

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static int size_of(MPI_Group group)
{
    int n;
    MPI_Group_size(group, &n);
    MPI_Group_free(&group);
    return n;
}

// The living wait for each other, by messages alone.
static void meet(void)
{
    for (int i = 1; i < size - 1 && rank == 0; i++)
        MPI_Recv(NULL, 0, MPI_INT, i, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i < size - 1 && rank == 0; i++)
        MPI_Send(NULL, 0, MPI_INT, i, 11, MPI_COMM_WORLD);
    if (rank > 0) {
        MPI_Send(NULL, 0, MPI_INT, 0, 10, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

// The lost one is told of by every call that needs it, and by no other.
static void errors(int lost)
{
    int x = rank, y = -1, flag;
    int left = (rank + size - 2) % (size - 1), right = (rank + 1) % (size - 1);
    MPI_Request request;
    CHECK(class_of(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Recv(&y, 1, MPI_INT, lost, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Ssend(&x, 1, MPI_INT, lost, 1, MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
    MPI_Irecv(&y, 1, MPI_INT, lost, 1, MPI_COMM_WORLD, &request);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED && request == MPI_REQUEST_NULL);
    CHECK(class_of(MPI_Probe(lost, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Sendrecv(&x, 1, MPI_INT, right, 2, &y, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(y == left);
}

// A receive from any source goes on, and says so until the loss is acknowledged.
static void wildcards(void)
{
    int x = rank, y = -1, n, flag, indices[1], outcount;
    MPI_Group failed;
    MPI_Request request, persistent;
    MPI_Status status;
    CHECK(class_of(MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request);
    MPI_Recv_init(&n, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &persistent);
    MPI_Start(&persistent);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING && request != MPI_REQUEST_NULL);
    CHECK(class_of(MPI_Test(&request, &flag, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(class_of(MPI_Wait(&persistent, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(class_of(MPI_Waitall(1, &request, &status)) == MPI_ERR_IN_STATUS);
    CHECK(class_of(status.MPI_ERROR) == MPIX_ERR_PROC_FAILED_PENDING && request != MPI_REQUEST_NULL);
    MPI_Waitsome(1, &request, &outcount, indices, &status);
    CHECK(outcount == 1 && request != MPI_REQUEST_NULL);
    MPI_Comm_get_failed(MPI_COMM_WORLD, &failed);
    CHECK(size_of(failed) == 1);
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed);
    CHECK(size_of(failed) == 0);
    CHECK(MPI_Comm_ack_failed(MPI_COMM_WORLD, 0, &n) == MPI_SUCCESS && n == 0);
    CHECK(class_of(MPI_Comm_ack_failed(MPI_COMM_WORLD, -1, &n)) == MPI_ERR_ARG);
    CHECK(MPI_Comm_ack_failed(MPI_COMM_WORLD, 1, &n) == MPI_SUCCESS && n == 1);
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed);
    CHECK(size_of(failed) == 1);
    int right = (rank + 1) % (size - 1);
    meet();
    MPI_Send(&x, 1, MPI_INT, right, 4, MPI_COMM_WORLD);
    MPI_Send(&x, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && y == (rank + size - 2) % (size - 1) && request == MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&persistent, &status) == MPI_SUCCESS && n == y);
    MPI_Request_free(&persistent);
}

static void agree(void)
{
    int flag = ~(1 << rank), expected = -1 & ~((1 << (size - 1)) - 1);
    MPI_Request request;
    CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == expected);
    flag = rank == 0 ? 5 : -1;
    CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 5);
}

// Every kind of call on a revoked communicator fails, also what had begun; long messages among it.
static void revoke(MPI_Comm comm)
{
    int x = rank, y, flag, len = 1 << 20;
    char *out = calloc(1, len), *in = calloc(1, len);
    MPI_Request requests[3];
    MPI_Irecv(&y, 1, MPI_INT, (rank + 1) % (size - 1), 6, comm, &requests[0]);
    MPI_Irecv(in, len, MPI_BYTE, (rank + 1) % (size - 1), 7, comm, &requests[1]);
    MPI_Isend(out, len, MPI_BYTE, (rank + 1) % (size - 1), 8, comm, &requests[2]);
    meet();
    if (rank == 1 % (size - 1))
        MPI_Comm_revoke(comm);
    CHECK(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Wait(&requests[1], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    MPIX_Comm_is_revoked(comm, &flag);
    CHECK(flag);
    CHECK(class_of(MPI_Send(&x, 1, MPI_INT, 0, 9, comm)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, 0, 9, comm, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Probe(0, 9, comm, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Barrier(comm)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Ibarrier(comm, &requests[0])) == MPIX_ERR_REVOKED);
    MPI_Comm copy;
    CHECK(class_of(MPI_Comm_dup(comm, &copy)) == MPIX_ERR_REVOKED);
    flag = 1;
    // Whoever wants the message has let it go by then.
    int code = class_of(MPIX_Comm_agree(comm, &flag));
    CHECK(code == MPIX_ERR_PROC_FAILED || code == MPI_SUCCESS);
    code = class_of(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    CHECK(code == MPI_SUCCESS || code == MPIX_ERR_REVOKED);
    free(out);
    free(in);
}

static void shrink(MPI_Comm comm, int living)
{
    MPI_Comm small, later;
    MPI_Request request;
    int one = 1, sum = 0, n, r;
    CHECK(MPIX_Comm_shrink(comm, &small) == MPI_SUCCESS);
    MPI_Comm_size(small, &n);
    MPI_Comm_rank(small, &r);
    CHECK(n == living && r == rank);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, small) == MPI_SUCCESS && sum == living);
    CHECK(MPIX_Comm_ishrink(comm, &later, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, later) == MPI_SUCCESS && sum == living);
    MPI_Comm copy;
    CHECK(MPI_Comm_dup(small, &copy) == MPI_SUCCESS && MPI_Barrier(copy) == MPI_SUCCESS);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&small);
    MPI_Comm_free(&later);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int *ft, found;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &ft, &found);
    CHECK(found && *ft);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        raise(SIGKILL);
    errors(size - 1);
    wildcards();
    agree();
    revoke(comm);
    shrink(comm, size - 1);
    shrink(MPI_COMM_WORLD, size - 1);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    printf("rank %d has survived\n", rank);
    return 0;
}
