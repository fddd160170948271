// ranks: 1 2 4
// nodes: 1
// Topologies with reorder: whoever has rank r takes the place of node r, and neighbours share a core where
// the processes are bound to two in turns.
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>

static int core;

/* Binds this process to one of the first two cores that it may use, by rank in turns. */
static int bind_in_turns(void)
{
    cpu_set_t may, one;
    sched_getaffinity(0, sizeof may, &may);
    int wide = CPU_COUNT(&may) >= 2, all;
    /* mpiexec gives each rank a core of its own where there are enough. */
    MPI_Allreduce(&wide, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!all)
        return 0;
    int wanted = rank % 2;
    for (core = 0; !CPU_ISSET(core, &may) || wanted-- > 0; core++) { }
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

/* The cores of the members, by rank; every process of the world is in it once. */
static void cores_of(MPI_Comm comm, int *cores)
{
    int worlds[16], seen[16] = {0};
    OK(MPI_Allgather(&core, 1, MPI_INT, cores, 1, MPI_INT, comm));
    OK(MPI_Allgather(&rank, 1, MPI_INT, worlds, 1, MPI_INT, comm));
    for (int i = 0; i < size; i++)
        seen[worlds[i]]++;
    for (int i = 0; i < size; i++)
        CHECK(seen[i] == 1, "rank %d of the world is there %d times", i, seen[i]);
}

static void check_pairs(MPI_Comm comm, int bound)
{
    int cores[16];
    cores_of(comm, cores);
    if (bound && size == 4)
        CHECK(cores[0] == cores[1] && cores[2] == cores[3], "cores %d %d %d %d", cores[0], cores[1], cores[2], cores[3]);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm comm;
    int bound = bind_in_turns(), me, dims[1] = {size}, periods[1] = {0}, coords[1];

    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &comm));
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Cart_coords(comm, me, 1, coords));
    CHECK(coords[0] == me, "%d at %d", me, coords[0]);
    int left, right, from = -1;
    OK(MPI_Cart_shift(comm, 0, 1, &left, &right));
    OK(MPI_Sendrecv(&me, 1, MPI_INT, right, 0, &from, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
    CHECK(from == (me == 0 ? -1 : me - 1), "%d", from);
    check_pairs(comm, bound);
    OK(MPI_Comm_free(&comm));

    /* Node r talks much with r ^ 1, and a little with the next. */
    int next = (rank + 1) % size, other = (rank ^ 1) < size ? rank ^ 1 : rank, previous = (rank + size - 1) % size;
    int to[2] = {other, next}, by[2] = {other, previous}, weights[2] = {100, 1};
    for (int form = 0; form < 2; form++) {
        int sources[2], destinations[2], in_weights[2], out_weights[2], two = 2, index[16], edges[32];
        if (form == 0)
            OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, by, weights, 2, to, weights, MPI_INFO_NULL, 1, &comm));
        else
            OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &two, to, weights, MPI_INFO_NULL, 1, &comm));
        OK(MPI_Comm_rank(comm, &me));
        OK(MPI_Dist_graph_neighbors(comm, 2, sources, in_weights, 2, destinations, out_weights));
        int pair = (me ^ 1) < size ? me ^ 1 : me;
        CHECK(destinations[0] == pair && out_weights[0] == 100, "%d: %d", me, destinations[0]);
        CHECK(destinations[1] == (me + 1) % size && out_weights[1] == 1, "%d: %d", me, destinations[1]);
        int given[2] = {me, me}, got[2];
        OK(MPI_Neighbor_alltoall(given, 1, MPI_INT, got, 1, MPI_INT, comm));
        CHECK(got[0] == sources[0] && got[1] == sources[1], "%d %d", got[0], got[1]);
        check_pairs(comm, bound);
        OK(MPI_Comm_free(&comm));

        for (int r = 0; r < size; r++) {
            index[r] = r + 1;
            edges[r] = (r ^ 1) < size ? r ^ 1 : r;
        }
        OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &comm));
        OK(MPI_Comm_rank(comm, &me));
        int neighbour;
        OK(MPI_Graph_neighbors(comm, me, 1, &neighbour));
        CHECK(neighbour == edges[me], "%d: %d", me, neighbour);
        check_pairs(comm, bound);
        OK(MPI_Comm_free(&comm));
    }
    return finish();
}
