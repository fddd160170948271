// ranks: 1 2
// Wrong arguments give the standard's error class and leave the library usable.
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD, freed;
    MPI_Datatype loose, gone;
    MPI_Request request;
    int x = 0, out = 0, flag;

    FAILS(MPI_ERR_COMM, MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Send(&x, 1, MPI_INT, 0, 0, (MPI_Comm)0x105));
    MPI_Comm_dup(world, &freed);
    MPI_Comm stale = freed;
    MPI_Comm_free(&freed);
    FAILS(MPI_ERR_COMM, MPI_Barrier(stale));
    FAILS(MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)MPI_GROUP_EMPTY, &out));

    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, -77, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, world));
    FAILS(MPI_ERR_RANK, MPI_Irecv(&x, 1, MPI_INT, size, 0, world, &request));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&x, 1, MPI_INT, size, world));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&x, 1, MPI_INT, MPI_PROC_NULL, world));
    FAILS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, -5, world));
    FAILS(MPI_ERR_TAG, MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, world));
    FAILS(MPI_ERR_TAG, MPI_Irecv(&x, 1, MPI_INT, 0, -5, world, &request));
    FAILS(MPI_ERR_COUNT, MPI_Send(&x, -1, MPI_INT, 0, 0, world));
    FAILS(MPI_ERR_COUNT, MPI_Send_c(&x, -1, MPI_INT, 0, 0, world));
    FAILS(MPI_ERR_COUNT, MPI_Allreduce(&x, &out, -1, MPI_INT, MPI_SUM, world));

    FAILS(MPI_ERR_TYPE, MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, world));
    MPI_Type_contiguous(2, MPI_INT, &loose);
    FAILS(MPI_ERR_TYPE, MPI_Send(&x, 1, loose, 0, 0, world));
    gone = loose;
    MPI_Type_free(&loose);
    FAILS(MPI_ERR_TYPE, MPI_Type_size(gone, &out));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&(MPI_Datatype){MPI_INT}));
    FAILS(MPI_ERR_OP, MPI_Allreduce(&x, &out, 1, MPI_INT, MPI_OP_NULL, world));
    FAILS(MPI_ERR_OP, MPI_Allreduce(&x, &out, 1, MPI_FLOAT, MPI_BAND, world));

    FAILS(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, world));
    FAILS(MPI_ERR_ARG, MPI_Comm_rank(world, NULL));
    FAILS(MPI_ERR_ARG, MPI_Isend(&x, 1, MPI_INT, 0, 0, world, NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &out));
    FAILS(MPI_ERR_ARG, MPI_Comm_set_name(world, NULL));
    FAILS(MPI_ERR_ARG, MPI_Comm_create_errhandler(NULL, &(MPI_Errhandler){MPI_ERRHANDLER_NULL}));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &out));
    FAILS(MPI_ERR_INFO, MPI_Info_get_nkeys(MPI_INFO_NULL, &out));
    FAILS(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL));
    request = (MPI_Request)0x181;
    FAILS(MPI_ERR_REQUEST, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Start(&(MPI_Request){MPI_REQUEST_NULL}));

    /* What is not significant is not looked at: at leaves the receive side, in place the send side. */
    int *all = malloc(size * sizeof *all);
    if (rank == 0) MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, world);
    else MPI_Gather(&rank, 1, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, 0, world);
    for (int i = 0; i < size && rank == 0; i++) CHECK(all[i] == i, "gather at %d", i);
    all[rank] = 10 * rank;
    MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, world);
    for (int i = 0; i < size; i++) CHECK(all[i] == 10 * i, "allgather at %d", i);

    /* Null buffers are fine without data, to nobody, and for types with absolute addresses. */
    CHECK(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, world) == MPI_SUCCESS, "empty send");
    MPI_Aint address;
    MPI_Datatype absolute;
    MPI_Get_address(&x, &address);
    MPI_Type_create_hindexed(1, (int[]){1}, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    x = rank + 5;
    CHECK(MPI_Sendrecv(MPI_BOTTOM, 1, absolute, rank, 3, &out, 1, MPI_INT, rank, 3, world,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS && out == rank + 5, "absolute addresses");
    MPI_Type_free(&absolute);
    free(all);
    return finish();
}
