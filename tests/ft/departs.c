// Each rank leaves in its own way, by the argument at its place: `well`, `killed`, `faults`, `returns` and `leaves` without MPI_Finalize, `aborts`.
// mpiexec --with-ft, as many ranks as arguments.
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    const char *how;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    how = rank + 1 < argc ? argv[rank + 1] : "well";
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "killed"))
        raise(SIGKILL);
    if (!strcmp(how, "faults"))
        raise(SIGSEGV);
    if (!strcmp(how, "returns"))
        return 1;
    if (!strcmp(how, "leaves"))
        _exit(3);
    if (!strcmp(how, "aborts"))
        MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Finalize();
    return 0;
}
