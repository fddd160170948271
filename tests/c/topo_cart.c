// Cartesian topologies: how they are made, asked and cut, who is whose neighbour, and what is refused.
// ranks: 1 2 4 7
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], got[2], back, status, n;
    MPI_Comm cart, line, copy;
    OK(MPI_Dims_create(size, 2, dims));
    CHECK(dims[0] * dims[1] == size && dims[0] >= dims[1]);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart));
    OK(MPI_Topo_test(cart, &status));
    CHECK(status == MPI_CART);
    OK(MPI_Cartdim_get(cart, &n));
    CHECK(n == 2);
    int d[2], p[2];
    OK(MPI_Cart_get(cart, 2, d, p, coords));
    CHECK(d[0] == dims[0] && d[1] == dims[1] && p[0] && !p[1]);
    CHECK(coords[0] == rank / dims[1] && coords[1] == rank % dims[1]);
    OK(MPI_Cart_rank(cart, coords, &back));
    CHECK(back == rank);
    for (int r = 0; r < size; r++) {
        OK(MPI_Cart_coords(cart, r, 2, got));
        OK(MPI_Cart_rank(cart, got, &back));
        CHECK(back == r);
    }
    /* Around in the periodic dimension, not in the other. */
    int from, to, wrapped[2] = {coords[0] - dims[0], coords[1]}, outside[2] = {0, dims[1]};
    OK(MPI_Cart_rank(cart, wrapped, &back));
    CHECK(back == rank);
    OK(MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN));
    CHECK(MPI_Cart_rank(cart, outside, &back) != MPI_SUCCESS);
    OK(MPI_Cart_shift(cart, 0, 1, &from, &to));
    CHECK(to == (rank + dims[1]) % size && from == (rank + size - dims[1]) % size);
    OK(MPI_Cart_shift(cart, 1, 1, &from, &to));
    CHECK(to == (coords[1] + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL));
    CHECK(from == (coords[1] > 0 ? rank - 1 : MPI_PROC_NULL));
    int passed = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &passed, 1, MPI_INT, from, 0, cart, MPI_STATUS_IGNORE));
    CHECK(passed == (from == MPI_PROC_NULL ? -1 : from));

    OK(MPI_Comm_dup(cart, &copy));
    OK(MPI_Topo_test(copy, &status));
    CHECK(status == MPI_CART);
    OK(MPI_Comm_free(&copy));

    int keep[2] = {0, 1}, none[2] = {0, 0};
    OK(MPI_Cart_sub(cart, keep, &line));
    OK(MPI_Comm_size(line, &n));
    CHECK(n == dims[1]);
    OK(MPI_Cart_get(line, 1, d, p, got));
    CHECK(d[0] == dims[1] && !p[0] && got[0] == coords[1]);
    OK(MPI_Comm_free(&line));
    OK(MPI_Cart_sub(cart, none, &line));
    OK(MPI_Comm_size(line, &n));
    CHECK(n == 1);
    OK(MPI_Cartdim_get(line, &n));
    CHECK(n == 0);
    OK(MPI_Comm_free(&line));
    OK(MPI_Comm_free(&cart));

    /* A grid of fewer processes leaves the others out. */
    int one[1] = {1}, ring[1] = {0};
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, one, ring, 1, &line));
    CHECK((line == MPI_COMM_NULL) == (rank != 0));
    if (line != MPI_COMM_NULL)
        OK(MPI_Comm_free(&line));
    int large[1] = {size + 1};
    CHECK(MPI_Cart_create(MPI_COMM_SELF, 1, large, ring, 0, &line) != MPI_SUCCESS);
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(MPI_COMM_WORLD, &n));
    OK(MPI_Topo_test(MPI_COMM_WORLD, &status));
    CHECK(status == MPI_UNDEFINED);
    int fixed[3] = {0, 3, 0};
    OK(MPI_Dims_create(6, 3, fixed));
    CHECK(fixed[0] == 2 && fixed[1] == 3 && fixed[2] == 1);
    int wrong[3] = {0, 3, 0};
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(7, 3, wrong));
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, one, ring, &n));
    CHECK(n == (rank == 0 ? 0 : MPI_UNDEFINED));
    return finish();
}
