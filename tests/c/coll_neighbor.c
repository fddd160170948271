// ranks: 1 2 3 4 6
// Neighbourhood collectives on Cartesian, graph and distributed graph topologies.
#include "coll.h"

enum { MOST = 64 };

static int sources[MOST], targets[MOST], indegree, outdegree;
/* Which edge of the sender arrives at edge e here: in a Cartesian grid what goes down arrives from above. */
static int cartesian;

static int given(int from, int to_edge, int i) { return from * 10000 + to_edge * 100 + i; }

/* The sender's edge that arrives at edge e: the k-th edge between the two in each. */
static int sent_edge(const int *their_targets, int their_outdegree, int me, int e)
{
    if (cartesian) return e ^ 1;
    int nth = 0;
    for (int k = 0; k < e; k++) nth += sources[k] == sources[e];
    for (int k = 0; k < their_outdegree; k++)
        if (their_targets[k] == me && nth-- == 0) return k;
    return -1;
}

static void exchange(int form, MPI_Comm comm, int large)
{
    int me, all, bad = 0, degrees[MOST], edges[MOST * MOST];
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &all));
    OK(MPI_Allgather(&outdegree, 1, MPI_INT, degrees, 1, MPI_INT, comm));
    OK(MPI_Allgather(targets, MOST, MPI_INT, edges, MOST, MPI_INT, comm));
    int out[MOST * 4], in[MOST * 4];

    for (int i = 0; i < 3; i++) out[i] = given(me, 0, i);
    for (int i = 0; i < 3 * indegree; i++) in[i] = -1;
    if (large) COLL_LARGE(form, comm, Neighbor_allgather, neighbor_allgather, out, 3, MPI_INT, in, 3, MPI_INT);
    else COLL(form, comm, Neighbor_allgather, neighbor_allgather, out, 3, MPI_INT, in, 3, MPI_INT);
    for (int e = 0; e < indegree; e++)
        for (int i = 0; i < 3; i++) bad += in[3 * e + i] != (sources[e] < 0 ? -1 : given(sources[e], 0, i));
    CHECK(!bad, "allgather, %s", form_names[form]);

    int counts[MOST], displs[MOST];
    MPI_Count lcounts[MOST];
    MPI_Aint ldispls[MOST];
    /* Rank r gives r % 3 elements; the last edge's block comes first. */
    for (int e = 0; e < indegree; e++) {
        lcounts[e] = counts[e] = sources[e] < 0 ? 0 : sources[e] % 3;
        ldispls[e] = displs[e] = (indegree - 1 - e) * 4;
    }
    if (large)
        COLL_LARGE(form, comm, Neighbor_allgatherv, neighbor_allgatherv, out, me % 3, MPI_INT, in, lcounts, ldispls, MPI_INT);
    else
        COLL(form, comm, Neighbor_allgatherv, neighbor_allgatherv, out, me % 3, MPI_INT, in, counts, displs, MPI_INT);
    for (int e = 0; e < indegree; e++)
        for (int i = 0; i < counts[e]; i++) bad += in[displs[e] + i] != given(sources[e], 0, i);
    CHECK(!bad, "allgatherv, %s", form_names[form]);

    for (int e = 0; e < outdegree; e++)
        for (int i = 0; i < 2; i++) out[2 * e + i] = given(me, e, i);
    for (int i = 0; i < 2 * indegree; i++) in[i] = -1;
    if (large) COLL_LARGE(form, comm, Neighbor_alltoall, neighbor_alltoall, out, 2, MPI_INT, in, 2, MPI_INT);
    else COLL(form, comm, Neighbor_alltoall, neighbor_alltoall, out, 2, MPI_INT, in, 2, MPI_INT);
    for (int e = 0; e < indegree; e++) {
        int s = sources[e], edge = s < 0 ? 0 : sent_edge(edges + s * MOST, degrees[s], me, e);
        for (int i = 0; i < 2; i++) bad += in[2 * e + i] != (s < 0 ? -1 : given(s, edge, i));
    }
    CHECK(!bad, "alltoall, %s", form_names[form]);

    /* One element from even, two from odd ranks, on each edge. */
    int scounts[MOST], sdispls[MOST], bytes[MOST];
    MPI_Count slarge[MOST];
    MPI_Aint sldispls[MOST], sbytes[MOST], rbytes[MOST];
    MPI_Datatype types[MOST];
    (void)bytes;
    for (int e = 0; e < MOST; e++) types[e] = MPI_INT;
    for (int e = 0; e < outdegree; e++) {
        slarge[e] = scounts[e] = me % 2 + 1;
        sldispls[e] = sdispls[e] = 2 * e;
        sbytes[e] = sdispls[e] * (MPI_Aint)sizeof(int);
    }
    for (int e = 0; e < indegree; e++) {
        lcounts[e] = counts[e] = sources[e] < 0 ? 0 : sources[e] % 2 + 1;
        ldispls[e] = displs[e] = (indegree - 1 - e) * 2;
        rbytes[e] = displs[e] * (MPI_Aint)sizeof(int);
    }
    for (int w = 0; w < 2; w++) {
        for (int i = 0; i < 2 * indegree; i++) in[i] = -1;
        if (w && large)
            COLL_LARGE(form, comm, Neighbor_alltoallw, neighbor_alltoallw, out, slarge, sbytes, types, in, lcounts, rbytes, types);
        else if (w)
            COLL(form, comm, Neighbor_alltoallw, neighbor_alltoallw, out, scounts, sbytes, types, in, counts, rbytes, types);
        else if (large)
            COLL_LARGE(form, comm, Neighbor_alltoallv, neighbor_alltoallv, out, slarge, sldispls, MPI_INT, in, lcounts, ldispls, MPI_INT);
        else
            COLL(form, comm, Neighbor_alltoallv, neighbor_alltoallv, out, scounts, sdispls, MPI_INT, in, counts, displs, MPI_INT);
        for (int e = 0; e < indegree; e++) {
            int s = sources[e], edge = s < 0 ? 0 : sent_edge(edges + s * MOST, degrees[s], me, e);
            for (int i = 0; i < 2; i++) bad += in[displs[e] + i] != (i < counts[e] ? given(s, edge, i) : -1);
        }
        CHECK(!bad, "alltoall%c, %s", w ? 'w' : 'v', form_names[form]);
    }
}

static void all_forms(MPI_Comm comm)
{
    for (int form = 0; form < FORMS; form++)
        for (int large = 0; large < 2; large++) exchange(form, comm, large);
}

static void grid(int ndims, int periodic)
{
    int dims[3] = {0, 0, 0}, periods[3] = {periodic, !periodic, periodic};
    MPI_Comm comm;
    OK(MPI_Dims_create(size, ndims, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &comm));
    for (int d = 0; d < ndims; d++) {
        OK(MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]));
        targets[2 * d] = sources[2 * d];
        targets[2 * d + 1] = sources[2 * d + 1];
    }
    indegree = outdegree = 2 * ndims;
    cartesian = 1;
    all_forms(comm);
    OK(MPI_Comm_free(&comm));
    cartesian = 0;
}

/* Everybody is the neighbour of rank 0, and of itself. */
static void star(void)
{
    int index[MOST], edges[MOST], n = 0;
    for (int r = 0; r < size; r++) {
        for (int t = 0; t < size; t++)
            if (r == t || r == 0 || t == 0) edges[n++] = t;
        index[r] = n;
    }
    MPI_Comm comm;
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
    OK(MPI_Graph_neighbors_count(comm, rank, &indegree));
    OK(MPI_Graph_neighbors(comm, rank, indegree, sources));
    memcpy(targets, sources, sizeof targets);
    outdegree = indegree;
    all_forms(comm);
    OK(MPI_Comm_free(&comm));
}

/* Rank r sends to r+1, r+2 and, twice, to itself; ranks receive in another order than they send. */
static void directed(void)
{
    MPI_Comm comm;
    indegree = outdegree = 4;
    sources[0] = (rank + 2 * size - 2) % size;
    sources[1] = rank;
    sources[2] = (rank + size - 1) % size;
    sources[3] = rank;
    targets[0] = rank;
    targets[1] = (rank + 1) % size;
    targets[2] = (rank + 2) % size;
    targets[3] = rank;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources, MPI_UNWEIGHTED, outdegree, targets,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    all_forms(comm);
    OK(MPI_Comm_free(&comm));
    /* A line with nobody before the first and after the last. */
    indegree = rank > 0;
    outdegree = rank < size - 1;
    sources[0] = rank - 1;
    targets[0] = rank + 1;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources, MPI_UNWEIGHTED, outdegree, targets,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    all_forms(comm);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int a = 0, b[MOST];
    grid(1, 1);
    grid(1, 0);
    grid(2, 1);
    grid(3, 0);
    star();
    if (size > 2) directed();
    FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD));
    return finish();
}
