/* The C part of status.f90. */
#include <mpi.h>
#include <string.h>

/* Both forms of a status are the same for C, and come back as they were. */
void c_same(const MPI_Fint *f_status, const MPI_F08_status *f08_status, int *answer)
{
    MPI_Status one, other;
    MPI_F08_status back;
    MPI_Fint old[MPI_F_STATUS_SIZE];
    int count;
    MPI_Status_f2c(f_status, &one);
    MPI_Status_f082c(f08_status, &other);
    MPI_Get_count(&other, MPI_INTEGER, &count);
    MPI_Status_c2f08(&other, &back);
    MPI_Status_f082f(&back, old);
    *answer = memcmp(&one, &other, sizeof one) == 0 && one.MPI_TAG == 7 && count == 2
        && memcmp(old, f_status, sizeof old) == 0;
}

void c_is_ignored(const MPI_Fint *f_status, const MPI_F08_status *f08_status, const MPI_Fint *many,
    const MPI_F08_status *many_f08, int *answer)
{
    *answer = f_status == MPI_F_STATUS_IGNORE && f08_status == MPI_F08_STATUS_IGNORE && many == MPI_F_STATUSES_IGNORE
        && many_f08 == MPI_F08_STATUSES_IGNORE;
}
