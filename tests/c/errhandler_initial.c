// ranks: 1 2
// mpiexec: -initial-errhandler MPI_ERRORS_RETURN
// What mpiexec says is the error handler of the predefined communicators, and of calls without one, also before MPI_Init and after
// MPI_Finalize. Windows and files have their own.
#include "check.h"

static void returns(MPI_Errhandler handler)
{
    CHECK(handler == MPI_ERRORS_RETURN);
    OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Comm copy;
    MPI_Win win;
    int size, base;
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS);
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    returns(handler);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler));
    returns(handler);
    FAILS(MPI_ERR_RANK, MPI_Send(&size, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_get_errhandler(copy, &handler));
    returns(handler);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Win_create(&base, sizeof base, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    OK(MPI_Win_get_errhandler(win, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Win_free(&win));
    OK(MPI_Finalize());
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS);
    return finish();
}
