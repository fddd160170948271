// Graph and distributed graph topologies: neighbours and weights come back as they were given, and wrong ones are refused.
// ranks: 1 2 4 5
#include "check.h"

/* A ring as a graph: everyone knows everything. */
static void ring_as_graph(void)
{
    MPI_Comm graph;
    int index[64], edges[128], n, m, status, found[8];
    int degree = size == 1 ? 1 : 2;
    for (int r = 0; r < size; r++) {
        index[r] = degree * (r + 1);
        edges[degree * r] = (r + size - 1) % size;
        if (degree == 2)
            edges[2 * r + 1] = (r + 1) % size;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
    OK(MPI_Topo_test(graph, &status));
    CHECK(status == MPI_GRAPH);
    OK(MPI_Graphdims_get(graph, &n, &m));
    CHECK(n == size && m == degree * size);
    OK(MPI_Graph_neighbors_count(graph, rank, &n));
    CHECK(n == degree);
    OK(MPI_Graph_neighbors(graph, rank, degree, found));
    CHECK(found[0] == (rank + size - 1) % size && found[degree - 1] == edges[degree * rank + degree - 1]);
    int got_index[64], got_edges[128];
    OK(MPI_Graph_get(graph, size, m, got_index, got_edges));
    CHECK(memcmp(got_index, index, size * sizeof(int)) == 0 && memcmp(got_edges, edges, m * sizeof(int)) == 0);
    OK(MPI_Comm_free(&graph));
}

static void check_ring(MPI_Comm graph, int weighted)
{
    int in, out, flag, status, source, destination, sw = -1, dw = -1;
    OK(MPI_Topo_test(graph, &status));
    CHECK(status == MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &flag));
    CHECK(in == 1 && out == 1 && !flag == !weighted);
    if (weighted)
        OK(MPI_Dist_graph_neighbors(graph, 1, &source, &sw, 1, &destination, &dw));
    else
        OK(MPI_Dist_graph_neighbors(graph, 1, &source, MPI_UNWEIGHTED, 1, &destination, MPI_UNWEIGHTED));
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    CHECK(source == left && destination == right);
    CHECK(!weighted || (sw == 10 + left && dw == 10 + rank), "weights %d %d", sw, dw);
    int got = -1;
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, graph));
    CHECK(got == left);
}

static void distributed(void)
{
    MPI_Comm graph;
    int left = (rank + size - 1) % size, right = (rank + 1) % size, one = 1;
    int in_weight = 10 + left, out_weight = 10 + rank;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &graph));
    check_ring(graph, 0);
    OK(MPI_Comm_free(&graph));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &in_weight, 1, &right, &out_weight, MPI_INFO_NULL,
                                      0, &graph));
    check_ring(graph, 1);
    OK(MPI_Comm_free(&graph));
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &right, &out_weight, MPI_INFO_NULL, 0, &graph));
    check_ring(graph, 1);
    OK(MPI_Comm_free(&graph));
    /* Rank 0 names all edges. */
    int sources[64], degrees[64], destinations[64], weights[64];
    for (int r = 0; r < size; r++)
        sources[r] = r, degrees[r] = 1, destinations[r] = (r + 1) % size, weights[r] = 10 + r;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, sources, degrees, destinations,
                             rank == 0 ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph));
    check_ring(graph, 1);
    OK(MPI_Comm_free(&graph));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    ring_as_graph();
    distributed();
    MPI_Comm graph;
    int bad_edge[1] = {99}, index[1] = {1}, n, m;
    CHECK(MPI_Graph_create(MPI_COMM_SELF, 1, index, bad_edge, 0, &graph) != MPI_SUCCESS);
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(MPI_COMM_WORLD, &n, &m));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &n, &m, &n));
    return finish();
}
