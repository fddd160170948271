// ranks: 1
// timeout: 30
// Functions that return their result (times, sums of addresses, handles as integers) return, with one result through
// MPI_ and through PMPI_. Under another ABI, the face and the core each have a function of such a name.
#include "check.h"
#include <unistd.h>

// Some headers have macros of these names.
#undef MPI_Aint_add
#undef MPI_Aint_diff
#undef PMPI_Aint_add
#undef PMPI_Aint_diff

int main(int argc, char **argv)
{
    // The system ends a program that does not return from a function.
    alarm(20);
    begin(&argc, &argv);
    double before = MPI_Wtime(), between = PMPI_Wtime(), after = MPI_Wtime();
    CHECK(before > 0 && between >= before && after >= between, "times %.9f, %.9f, %.9f", before, between, after);
    CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1, "a tick of %g s", MPI_Wtick());
    CHECK(MPI_Wtick() == PMPI_Wtick(), "ticks of %g s and %g s", MPI_Wtick(), PMPI_Wtick());
    CHECK(MPI_Aint_add(40, 2) == 42 && PMPI_Aint_add(40, -2) == 38, "40 + 2 = %ld", (long)MPI_Aint_add(40, 2));
    CHECK(MPI_Aint_diff(40, 2) == 38 && PMPI_Aint_diff(40, -2) == 42, "40 - 2 = %ld", (long)MPI_Aint_diff(40, 2));
    OK(MPI_Pcontrol(1));
    OK(PMPI_Pcontrol(0));
#ifdef MPI_ABI_VERSION
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "MPI_COMM_WORLD as an int");
    CHECK(PMPI_Type_fromint(PMPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE, "MPI_DOUBLE as an int");
#endif
    MPI_Finalize();
    return failures ? 1 : 0;
}
