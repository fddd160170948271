/* Processes of two jobs: those of this one, and children of theirs. */
#ifndef JOBS_H
#define JOBS_H

#include "check.h"

/* A communicator of the processes of `program`'s job, which come first, and of so many children that it starts with the same program,
 * who call this as well. `inter` connects both; it is to be disconnected. Sets `rank` and `size`. */
static inline MPI_Comm with_children(char *program, int children, MPI_Comm *inter)
{
    MPI_Comm parent, all;
    OK(MPI_Comm_get_parent(&parent));
    if (parent == MPI_COMM_NULL)
        OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE));
    else
        *inter = parent;
    OK(MPI_Intercomm_merge(*inter, parent != MPI_COMM_NULL, &all));
    OK(MPI_Comm_rank(all, &rank));
    OK(MPI_Comm_size(all, &size));
    return all;
}

#endif
