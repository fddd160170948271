// MPI_DATATYPE_NULL with a count of 0, which programs give where a rank has nothing; with more than nothing it is refused.
// ranks: 1 2
#include "check.h"

int main(int argc, char **argv)
{
    int a[8] = {0}, b[8] = {0}, none[8] = {0}, one[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    MPI_Datatype types[8];
    MPI_Request requests[2];
    MPI_Comm world = MPI_COMM_WORLD;
    begin(&argc, &argv);
    for (int i = 0; i < 8; i++)
        types[i] = MPI_DATATYPE_NULL;
    const MPI_Datatype null = MPI_DATATYPE_NULL;

    OK(MPI_Send(NULL, 0, null, MPI_PROC_NULL, 0, world));
    OK(MPI_Recv(NULL, 0, null, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE));
    OK(MPI_Isend(NULL, 0, null, rank, 5, world, &requests[0]));
    OK(MPI_Irecv(NULL, 0, null, rank, 5, world, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Sendrecv(NULL, 0, null, rank, 6, NULL, 0, null, rank, 6, world, MPI_STATUS_IGNORE));
    OK(MPI_Bcast(NULL, 0, null, 0, world));
    OK(MPI_Gather(NULL, 0, null, NULL, 0, null, 0, world));
    OK(MPI_Gatherv(NULL, 0, null, b, none, none, MPI_INT, 0, world));
    OK(MPI_Scatterv(a, none, none, MPI_INT, NULL, 0, null, 0, world));
    OK(MPI_Allgatherv(NULL, 0, null, b, none, none, MPI_INT, world));
    OK(MPI_Alltoallw(a, none, none, types, b, none, none, types, world));
    OK(MPI_Ialltoallw(a, none, none, types, b, none, none, types, world, &requests[0]));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));

    FAILS(MPI_ERR_TYPE, MPI_Send(a, 1, null, MPI_PROC_NULL, 0, world));
    FAILS(MPI_ERR_TYPE, MPI_Bcast(a, 1, null, 0, world));
    FAILS(MPI_ERR_TYPE, MPI_Alltoallw(a, one, none, types, b, one, none, types, world));
    FAILS(MPI_ERR_TYPE, MPI_Allreduce(a, b, 0, null, MPI_SUM, world));
    FAILS(MPI_ERR_TYPE, MPI_Send(NULL, 0, (MPI_Datatype)(size_t)0x3fffff0, MPI_PROC_NULL, 0, world));

    /* An attribute that is not there is deleted all the same; a key that is none is an error. */
    int key;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_delete_attr(world, key));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(world, MPI_KEYVAL_INVALID));
    OK(MPI_Comm_free_keyval(&key));

    char name[MPI_MAX_OBJECT_NAME];
    int length;
    OK(MPI_Type_get_name(MPI_C_COMPLEX, name, &length));
    CHECK(strcmp(name, "MPI_C_COMPLEX") == 0, "%s", name);
    return finish();
}
