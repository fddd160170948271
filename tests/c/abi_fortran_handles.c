// ranks: 1 2
// Functions of C for callers in Fortran: handles and statuses come as integers. The header makes these of the
// functions that the ABI has, so there is nothing of them to link with.
#include "check.h"

/* What a Fortran program would call: integers alone, by address, as Fortran gives them. */
static void sum_(MPI_Fint *sum, MPI_Fint *datatype, MPI_Fint *op, MPI_Fint *comm, MPI_Fint *error)
{
    *error = MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op), MPI_Comm_f2c(*comm));
}

static void receive_(MPI_Fint *request, MPI_Fint *status, MPI_Fint *error)
{
    MPI_Request handle = MPI_Request_f2c(*request);
    MPI_Status known;
    *error = MPI_Wait(&handle, &known);
    *request = MPI_Request_c2f(handle);
    MPI_Status_c2f(&known, status);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Comm copy;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MPI_Fint comm = MPI_Comm_c2f(copy), type = MPI_Type_c2f(MPI_INT), op = MPI_Op_c2f(MPI_SUM), error = -1;
    MPI_Fint sum = rank + 1;
    sum_(&sum, &type, &op, &comm, &error);
    CHECK(error == MPI_SUCCESS && sum == size * (size + 1) / 2, "error %d, sum %d", error, sum);
    CHECK(MPI_Comm_f2c(comm) == copy && PMPI_Comm_f2c(PMPI_Comm_c2f(copy)) == copy);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_ENV)) == MPI_INFO_ENV);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);

    /* A status through Fortran and back still knows what came. */
    MPI_Fint got = 0, sent = rank, status[MPI_F_STATUS_SIZE];
    MPI_Request request;
    OK(MPI_Irecv(&got, 3, MPI_INT, (rank + size - 1) % size, 5, copy, &request));
    OK(MPI_Send(&sent, 1, MPI_INT, (rank + 1) % size, 5, copy));
    MPI_Fint number = MPI_Request_c2f(request);
    receive_(&number, status, &error);
    CHECK(error == MPI_SUCCESS && number == MPI_Request_c2f(MPI_REQUEST_NULL), "error %d, request %d", error, number);
    CHECK(status[MPI_F_SOURCE] == (rank + size - 1) % size && status[MPI_F_TAG] == 5);
    MPI_Status known;
    int count;
    MPI_Status_f2c(status, &known);
    OK(MPI_Get_count(&known, MPI_INT, &count));
    CHECK(count == 1 && known.MPI_TAG == 5 && known.MPI_SOURCE == (rank + size - 1) % size, "count %d", count);

    /* So does one of mpi_f08, which has the same numbers under the same names. */
    MPI_F08_status f08;
    OK(MPI_Status_c2f08(&known, &f08));
    CHECK(f08.MPI_SOURCE == known.MPI_SOURCE && f08.MPI_TAG == 5);
    MPI_Status back;
    OK(PMPI_Status_f082c(&f08, &back));
    OK(MPI_Get_count(&back, MPI_INT, &count));
    CHECK(count == 1 && back.MPI_SOURCE == known.MPI_SOURCE && back.MPI_TAG == 5, "count %d", count);
    MPI_Fint again[MPI_F_STATUS_SIZE];
    OK(MPI_Status_f082f(&f08, again));
    CHECK(memcmp(again, status, sizeof again) == 0);
    memset(&f08, 0, sizeof f08);
    OK(PMPI_Status_f2f08(again, &f08));
    CHECK(memcmp(&f08, status, sizeof f08) == 0);
    CHECK(MPI_Status_c2f08(MPI_STATUS_IGNORE, &f08) == MPI_ERR_ARG);
    CHECK(MPI_F_STATUS_IGNORE && MPI_F_STATUSES_IGNORE && MPI_F08_STATUS_IGNORE && MPI_F08_STATUSES_IGNORE);

    OK(MPI_Comm_free(&copy));
    return finish();
}
