// MPI_LB and MPI_UB, which MPI 3.0 removed, for Intel's suite, whose library makes types with them: a type without data that has both bounds, as
// MPI_Type_create_resized makes them (MPI 5.0, section 5.1.7). In a structure they bound it as those did.
#include <mpi.h>

static inline MPI_Datatype bound(void)
{
    static MPI_Datatype type;
    if (!type) {
        MPI_Datatype nothing;
        MPI_Type_contiguous(0, MPI_BYTE, &nothing);
        MPI_Type_create_resized(nothing, 0, 0, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&nothing);
    }
    return type;
}

#define MPI_LB bound()
#define MPI_UB bound()
