/* All shortest paths (ASP): the lengths of the shortest paths between all pairs of vertices of a
 * directed graph, by the algorithm of Floyd and Warshall.
 *
 * Usage: asp [vertices] [check|time] [steps]
 *
 * The matrix of distances is divided among the ranks by rows. In step k the rank that owns row k
 * broadcasts it, and every rank sees whether its paths become shorter by way of vertex k. So there
 * are as many broadcasts as vertices, of one row each, from all ranks in turn. With fewer steps the
 * paths go only by way of so many vertices, which are spread evenly over all.
 *
 * With `check`, which is the default, rank 0 computes all alone too and compares; `time` leaves
 * that out. Two lines for programs follow: the size of a row in bytes, and the microseconds of all,
 * and of the broadcasts, of the slowest rank. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No path: longer than every path, and twice as much still fits. */
static const int32_t NONE = INT32_MAX / 2;

/* First row of piece `index` of `pieces` nearly equal ones; that of piece `pieces` is the end. */
static int first_row(int vertices, int pieces, int index)
{
    return (int)((long)vertices * index / pieces);
}

/* The rank that owns a row. */
static int owner_of(int vertices, int pieces, int row)
{
    int owner = (int)((long)row * pieces / vertices);
    while (first_row(vertices, pieces, owner + 1) <= row)
        owner++;
    while (first_row(vertices, pieces, owner) > row)
        owner--;
    return owner;
}

/* The edge from one vertex to another, from their numbers alone: three in four are there, of length
 * 1 to 1000. */
static int32_t edge(int from, int to)
{
    if (from == to)
        return 0;
    uint64_t word = ((uint64_t)from << 32 | (uint32_t)to) * UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    word ^= word >> 32;
    return word % 4 == 0 ? NONE : (int32_t)(word / 4 % 1000) + 1;
}

static int32_t *matrix(int rows, int vertices)
{
    int32_t *all = malloc(sizeof *all * (size_t)rows * (size_t)vertices + 1);
    if (all == NULL) {
        fprintf(stderr, "asp: no memory for %d rows of %d vertices\n", rows, vertices);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return all;
}

static void make_rows(int32_t *rows, int first, int end, int vertices)
{
    for (int i = first; i < end; i++)
        for (int j = 0; j < vertices; j++)
            rows[(size_t)(i - first) * (size_t)vertices + (size_t)j] = edge(i, j);
}

/* Whether the path of one row becomes shorter by way of the vertex whose row is `by`. */
static void relax(int32_t *row, const int32_t *by, int32_t to_it, int vertices)
{
    for (int j = 0; j < vertices; j++) {
        int32_t through = to_it + by[j];
        row[j] = through < row[j] ? through : row[j];
    }
}

/* The paths from the rows `first` to `end`. Returns the seconds that this rank spent in broadcasts. */
static double solve(int32_t *mine, int first, int end, int vertices, int steps)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int32_t *row = matrix(1, vertices);
    double broadcasting = 0;
    for (int step = 0; step < steps; step++) {
        int k = first_row(vertices, steps, step), owner = owner_of(vertices, size, k);
        int32_t *by = rank == owner ? mine + (size_t)(k - first) * (size_t)vertices : row;
        double start = MPI_Wtime();
        MPI_Bcast(by, vertices, MPI_INT32_T, owner, MPI_COMM_WORLD);
        broadcasting += MPI_Wtime() - start;
        for (int i = 0; i < end - first; i++) {
            int32_t *one = mine + (size_t)i * (size_t)vertices;
            relax(one, by, one[k], vertices);
        }
    }
    free(row);
    return broadcasting;
}

/* Rank 0 computes alone, and compares with what the ranks have found. */
static int differs(const int32_t *mine, int rows, int vertices, int steps)
{
    int rank, size, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0) {
        MPI_Send(mine, rows * vertices, MPI_INT32_T, 0, 0, MPI_COMM_WORLD);
    } else {
        int32_t *alone = matrix(vertices, vertices), *theirs = matrix(vertices, vertices);
        make_rows(alone, 0, vertices, vertices);
        for (int step = 0; step < steps; step++)
            for (int i = 0, k = first_row(vertices, steps, step); i < vertices; i++) {
                int32_t *one = alone + (size_t)i * (size_t)vertices;
                relax(one, alone + (size_t)k * (size_t)vertices, one[k], vertices);
            }
        memcpy(theirs, mine, sizeof *mine * (size_t)rows * (size_t)vertices);
        for (int from = 1; from < size; from++) {
            int first = first_row(vertices, size, from), end = first_row(vertices, size, from + 1);
            MPI_Recv(theirs + (size_t)first * (size_t)vertices, (end - first) * vertices, MPI_INT32_T, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        wrong = memcmp(alone, theirs, sizeof *alone * (size_t)vertices * (size_t)vertices) != 0;
        free(alone);
        free(theirs);
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, vertices = argc > 1 ? atoi(argv[1]) : 256;
    int check = argc < 3 || strcmp(argv[2], "time") != 0, steps = argc > 3 ? atoi(argv[3]) : vertices;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int known = argc < 3 || !check || strcmp(argv[2], "check") == 0;
    if (!known || vertices < size || vertices > 32768 || steps < 1 || steps > vertices) {
        if (rank == 0)
            fprintf(stderr, "usage: asp [vertices, from the number of ranks to 32768] [check|time] "
                            "[steps, up to the vertices]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    int first = first_row(vertices, size, rank), end = first_row(vertices, size, rank + 1);
    int32_t *mine = matrix(end - first, vertices);
    make_rows(mine, first, end, vertices);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), broadcasting = solve(mine, first, end, vertices, steps);
    double spent[2] = {MPI_Wtime() - start, broadcasting}, slowest[2] = {0, 0};
    MPI_Reduce(spent, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

    int wrong = check && differs(mine, end - first, vertices, steps);
    if (rank == 0 && wrong)
        fprintf(stderr, "asp: the paths differ from those that one rank finds\n");
    else if (rank == 0) {
        printf("Shortest paths between %d vertices in %d steps by %d ranks%s\n", vertices, steps, size,
               check ? ", the ones that one rank finds" : "");
        printf("asp %zu %.1f us\n", sizeof *mine * (size_t)vertices, slowest[0] * 1e6);
        printf("asp_bcast %zu %.1f us\n", sizeof *mine * (size_t)vertices, slowest[1] * 1e6);
    }
    free(mine);
    MPI_Finalize();
    return wrong;
}
