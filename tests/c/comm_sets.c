// MPI_COMM_TYPE_RESOURCE_GUIDED by the info key mpi_pset_name: processes of one set come into one communicator, on
// whatever nodes they are.
// ranks: 4
// mpiexec: --nodes 2
#include "check.h"

static int sized(int type, const char *key, const char *value)
{
    MPI_Comm part;
    MPI_Info info;
    int n = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part));
    OK(MPI_Info_free(&info));
    if (part != MPI_COMM_NULL) {
        OK(MPI_Comm_size(part, &n));
        OK(MPI_Comm_free(&part));
    }
    return n;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        CHECK(sized(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD") == size);
        CHECK(sized(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "MPI://world") == size);
        CHECK(sized(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF") == 1);
    }
    CHECK(sized(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://NONE") == 0);
    CHECK(sized(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory") == size / 2);
    CHECK(sized(MPI_COMM_TYPE_SHARED, "any", "thing") == size / 2);
    return finish();
}
