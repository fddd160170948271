// ranks: 1 2 4 8
// A grid with reorder costs no more than without: ranks that mpiexec has dealt out in turns come to their neighbours' package.
#include "check.h"

/* How many neighbours of a row of all ranks are in another part of this kind, on the same node. */
static int crossings(MPI_Comm row, const char *kind)
{
    MPI_Comm part;
    MPI_Info info;
    int me, first = rank, before, left, right, crossed, all;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_hw_resource_type", kind));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
    OK(MPI_Info_free(&info));
    if (part != MPI_COMM_NULL) {
        OK(MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, part));
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_rank(row, &me));
    OK(MPI_Cart_shift(row, 0, 1, &left, &right));
    before = first;
    OK(MPI_Sendrecv(&first, 1, MPI_INT, right, 0, &before, 1, MPI_INT, left, 0, row, MPI_STATUS_IGNORE));
    crossed = before != first;
    OK(MPI_Allreduce(&crossed, &all, 1, MPI_INT, MPI_SUM, row));
    return all;
}

int main(int argc, char **argv)
{
    static const char *kinds[] = {"hwloc://Package", "hwloc://L3Cache"};
    begin(&argc, &argv);
    int dims[1] = {size}, periods[1] = {0};
    MPI_Comm kept, moved;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &kept));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &moved));
    for (int kind = 0; kind < 2; kind++) {
        int before = crossings(kept, kinds[kind]), after = crossings(moved, kinds[kind]);
        CHECK(kind > 0 || after <= before, "%s: %d, without reorder %d", kinds[kind], after, before);
        if (rank == 0) printf("%s: %d of %d links cross, without reorder %d\n", kinds[kind], after, size - 1, before);
    }
    OK(MPI_Comm_free(&kept));
    OK(MPI_Comm_free(&moved));
    return finish();
}
