// The suite's stress/isend-err.c uses this function before it defines it.
#include <mpi.h>
static void verbose_errhandler(MPI_Comm *, int *, ...);
