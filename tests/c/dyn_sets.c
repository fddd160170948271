// Processes of several worlds in one communicator: each world is a set of its own, and so is each process.
// ranks: 1 2
#include "check.h"

static int part_of(MPI_Comm all, const char *set)
{
    MPI_Comm part;
    MPI_Info info;
    int n = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_pset_name", set));
    OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
    OK(MPI_Info_free(&info));
    if (part != MPI_COMM_NULL) {
        OK(MPI_Comm_size(part, &n));
        OK(MPI_Comm_free(&part));
    }
    return n;
}

int main(int argc, char **argv)
{
    MPI_Comm inter, all;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&inter));
    int child = inter != MPI_COMM_NULL;
    if (!child)
        OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    /* Between the two sides there is nothing to keep of a set that is on one of them only. */
    CHECK(part_of(inter, "mpi://WORLD") == 0);
    OK(MPI_Intercomm_merge(inter, child, &all));
    CHECK(part_of(all, "mpi://WORLD") == size);
    CHECK(part_of(all, "mpi://SELF") == 1);
    OK(MPI_Comm_free(&all));
    OK(MPI_Comm_disconnect(&inter));
    return finish();
}
