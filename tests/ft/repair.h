// The pattern of programs that replace what they have lost: shrink, spawn, merge, split with the old ranks.
#include <mpi.h>
#include <mpi-ext.h>

// Makes `world` whole again: the living call it with what is left of it, successors with MPI_COMM_NULL.
static inline MPI_Comm repair(MPI_Comm world, char *program)
{
    MPI_Comm living, spawned, merged, whole;
    int rank, size, left, old = -1;
    if (world == MPI_COMM_NULL) {
        MPI_Comm_get_parent(&spawned);
        MPI_Intercomm_merge(spawned, 1, &merged);
        MPI_Recv(&old, 1, MPI_INT, 0, 1, merged, MPI_STATUS_IGNORE);
    } else {
        MPI_Group before, after, lost;
        MPIX_Comm_shrink(world, &living);
        MPI_Comm_size(world, &size);
        MPI_Comm_rank(world, &old);
        MPI_Comm_size(living, &left);
        MPI_Comm_spawn(program, MPI_ARGV_NULL, size - left, MPI_INFO_NULL, 0, living, &spawned, MPI_ERRCODES_IGNORE);
        MPI_Intercomm_merge(spawned, 0, &merged);
        MPI_Comm_rank(merged, &rank);
        MPI_Comm_group(world, &before);
        MPI_Comm_group(living, &after);
        MPI_Group_difference(before, after, &lost);
        for (int i = 0; i < size - left && rank == 0; i++) {
            int place;
            MPI_Group_translate_ranks(lost, 1, &i, before, &place);
            MPI_Send(&place, 1, MPI_INT, left + i, 1, merged);
        }
        MPI_Group_free(&before);
        MPI_Group_free(&after);
        MPI_Group_free(&lost);
        MPI_Comm_free(&living);
    }
    MPI_Comm_split(merged, 0, old, &whole);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&spawned);
    MPI_Comm_set_errhandler(whole, MPI_ERRORS_RETURN);
    return whole;
}
