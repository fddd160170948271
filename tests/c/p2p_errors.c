// ranks: 1 2
// Wrong arguments of the point-to-point functions: the standard's class, nothing sent, nothing
// broken.
#include "check.h"

static int x;
static MPI_Comm world;

static void blocking(void)
{
    MPI_Status status;
    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Ssend(&x, 1, MPI_INT, -9, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Recv(&x, 1, MPI_INT, size, 0, world, &status));
    FAILS(MPI_ERR_RANK, MPI_Probe(size + 3, 0, world, &status));
    FAILS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, -1, world));
    FAILS(MPI_ERR_TAG, MPI_Recv(&x, 1, MPI_INT, 0, -7, world, &status));
    FAILS(MPI_ERR_COUNT, MPI_Send(&x, -1, MPI_INT, 0, 0, world));
    FAILS(MPI_ERR_COUNT, MPI_Recv(&x, -2, MPI_INT, 0, 0, world, &status));
    FAILS(MPI_ERR_TYPE, MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, world));
    FAILS(MPI_ERR_TYPE, MPI_Recv(&x, 1, MPI_DATATYPE_NULL, 0, 0, world, &status));
    FAILS(MPI_ERR_COMM, MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &status));
    FAILS(MPI_ERR_RANK, MPI_Sendrecv(&x, 1, MPI_INT, size, 0, &x, 1, MPI_INT, 0, 0, world, &status));
    FAILS(MPI_ERR_COUNT, MPI_Sendrecv_replace(&x, -1, MPI_INT, 0, 0, 0, 0, world, &status));
}

static void nonblocking(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag;
    FAILS(MPI_ERR_RANK, MPI_Isend(&x, 1, MPI_INT, size, 0, world, &request));
    FAILS(MPI_ERR_RANK, MPI_Irecv(&x, 1, MPI_INT, -4, 0, world, &request));
    FAILS(MPI_ERR_TAG, MPI_Issend(&x, 1, MPI_INT, 0, -1, world, &request));
    FAILS(MPI_ERR_COUNT, MPI_Irsend(&x, -1, MPI_INT, 0, 0, world, &request));
    FAILS(MPI_ERR_TYPE, MPI_Irecv(&x, 1, MPI_DATATYPE_NULL, 0, 0, world, &request));
    FAILS(MPI_ERR_RANK, MPI_Send_init(&x, 1, MPI_INT, size, 0, world, &request));
    FAILS(MPI_ERR_TAG, MPI_Recv_init(&x, 1, MPI_INT, 0, -3, world, &request));
    FAILS(MPI_ERR_RANK, MPI_Iprobe(size, 0, world, &flag, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_RANK, MPI_Improbe(size, 0, world, &flag, &message, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Mrecv(&x, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}

/* The tag's upper bound, and one beyond. */
static void largest_tag(void)
{
    void *value;
    int flag, got = 0;
    OK(MPI_Comm_get_attr(world, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *(int *)value >= 32767);
    int bound = *(int *)value;
    MPI_Request request;
    OK(MPI_Irecv(&got, 1, MPI_INT, 0, bound, MPI_COMM_SELF, &request));
    OK(MPI_Send(&(int){3}, 1, MPI_INT, 0, bound, MPI_COMM_SELF));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(got == 3);
    if (bound < 2147483647) FAILS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, bound + 1, world));
}

static void requests(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag;
    FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&request));
    if (!strict()) return;
    /* Starting what is not persistent, or is active. */
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv_init(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    OK(MPI_Start(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* One that was freed, in the array of a call and alone. */
    MPI_Request gone = request;
    OK(MPI_Request_free(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Test(&gone, &flag, MPI_STATUS_IGNORE));
    MPI_Request pair[2] = {MPI_REQUEST_NULL, gone};
    FAILS(MPI_ERR_REQUEST, MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
    CHECK(MPI_Waitall(-1, pair, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
}

/* The error handler of the communicator hears of it, once, with the communicator. */
static int heard;
static MPI_Comm heard_on;
static void hear(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    heard += class == MPI_ERR_RANK;
    heard_on = *comm;
}

static void handlers(void)
{
    MPI_Errhandler handler;
    MPI_Comm copy;
    OK(MPI_Comm_dup(world, &copy));
    OK(MPI_Comm_create_errhandler(hear, &handler));
    OK(MPI_Comm_set_errhandler(copy, handler));
    int code = MPI_Send(&x, 1, MPI_INT, size, 0, copy);
    CHECK(code != MPI_SUCCESS || !strict());
    CHECK(heard == 1 && heard_on == copy, "heard %d times", heard);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Comm_free(&copy));
}

/* All is as before. */
static void still_working(void)
{
    int in = 0, to = (rank + 1) % size, from = (rank + size - 1) % size;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, world, MPI_STATUS_IGNORE));
    CHECK(in == from);
    int flag = 1;
    OK(MPI_Barrier(world));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a message that should not have been sent");
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    world = MPI_COMM_WORLD;
    blocking();
    nonblocking();
    largest_tag();
    requests();
    handlers();
    still_working();
    return finish();
}
