/* For programs that include this file where it is there, as Open MPI has it.
 *
 * Fault tolerance: mpi.h itself declares MPIX_Comm_revoke and the functions that belong to it; the macros here say so, by
 * the names by which programs ask Open MPI. Memory of graphics cards: Tern takes none, as the functions of mpi.h say. */
#ifndef TERN_MPI_EXT_H
#define TERN_MPI_EXT_H

#include <mpi.h>

#define OMPI_HAVE_MPI_EXT 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPIX_COMM_GET_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ACK_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK 1

#define MPIX_CUDA_AWARE_SUPPORT 0
#define MPIX_ROCM_AWARE_SUPPORT 0

#endif
