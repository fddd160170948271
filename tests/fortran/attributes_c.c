/* The C part of attributes.f90: attributes that one language sets and the other gets (MPI 5.0 section 19.3.7). */
#include <mpi.h>
#include <stdint.h>

static int c_key, wide = 42;

/* A key of C's, and an attribute that is a pointer to an int. */
void c_set_(int *comm, int *key, int64_t *address)
{
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &c_key, 0);
    MPI_Comm_set_attr(MPI_Comm_fromint(*comm), c_key, &wide);
    *key = c_key;
    *address = (int64_t)(intptr_t)&wide;
}

/* What C gets of an attribute that Fortran has set: a pointer to its value. */
void c_get_(int *comm, int *key, int64_t *value)
{
    int found = 0;
    MPI_Aint *attribute;
    MPI_Comm_get_attr(MPI_Comm_fromint(*comm), *key, &attribute, &found);
    *value = found ? *attribute : -1;
}

/* The same object in both languages: its size and whether the name is as given. */
void c_look_(int *comm, int *datatype, int *size, int *bytes)
{
    MPI_Comm_size(MPI_Comm_fromint(*comm), size);
    MPI_Type_size(MPI_Type_fromint(*datatype), bytes);
}

/* An operation of Fortran's, called by C. */
void c_reduce_(int *op, int *result)
{
    int value = 3;
    MPI_Allreduce(&value, result, 1, MPI_INT, MPI_Op_fromint(*op), MPI_COMM_SELF);
}
