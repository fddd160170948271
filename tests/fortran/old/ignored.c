/* The C part of program.f90: a function that C programs have for callers in Fortran (MPI 5.0 section 19.3.5). */
extern int *MPI_F_STATUS_IGNORE;

int is_ignored_(const int *status)
{
    return status == MPI_F_STATUS_IGNORE;
}
