/* Heat in a square plate: the two-dimensional heat equation, explicit in time, on a grid that is
 * divided among the ranks in two dimensions.
 *
 * Usage: heat [cells per side] [steps] [picture.png]
 *
 * Each rank holds its part of the plate with a border of one cell. A step sends the outermost own
 * cells to the four neighbours (rows as they lie in memory, columns by a vector type), computes
 * the cells that need no border while the messages travel, waits, and computes the rest. The
 * plate's edges are held at fixed temperatures: the upper one hot, the others cold; a round
 * heater sits off the centre. Rank 0 gathers the field and writes it as a picture. */
#include "png.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Temperatures, degrees. */
static const double COLD = 0, HOT = 100, HEATER = 80;

/* One rank's part of the plate. Cell (i, j) of the part lies at field[(i + 1) * stride + j + 1];
 * rows 0 and rows + 1 and columns 0 and columns + 1 are the border. */
typedef struct {
    int side;                    /* cells of the whole plate along a side */
    int row_ranks, column_ranks; /* how the ranks divide it */
    int first_row, rows, first_column, columns, stride;
    int up, down, left, right; /* neighbours, or MPI_PROC_NULL at the plate's edge */
    double *field, *next;
    MPI_Datatype column; /* one column of own cells */
} part;

/* First cell and number of cells of piece `index` of `pieces` nearly equal ones. */
static int piece_start(int cells, int pieces, int index)
{
    return (int)((long)cells * index / pieces);
}

static int piece_length(int cells, int pieces, int index)
{
    return piece_start(cells, pieces, index + 1) - piece_start(cells, pieces, index);
}

/* The most nearly square division of `ranks` into rows of ranks. */
static int choose_row_ranks(int ranks)
{
    int rows = (int)sqrt((double)ranks);
    while (ranks % rows != 0)
        rows--;
    return rows;
}

static int in_heater(const part *p, int row, int column)
{
    double y = (row + 0.5) / p->side - 0.6, x = (column + 0.5) / p->side - 0.35;
    return x * x + y * y < 0.01;
}

static double *cell(const part *p, double *field, int row, int column)
{
    return field + (size_t)(row + 1) * (size_t)p->stride + (size_t)column + 1;
}

static double *allocate(size_t count)
{
    double *values = calloc(count, sizeof *values);
    if (values == NULL) {
        fprintf(stderr, "heat: no memory for %zu cells\n", count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return values;
}

static void set_up(part *p, int side, int rank, int ranks)
{
    p->side = side;
    p->row_ranks = choose_row_ranks(ranks);
    p->column_ranks = ranks / p->row_ranks;
    int my_row = rank / p->column_ranks, my_column = rank % p->column_ranks;
    p->first_row = piece_start(side, p->row_ranks, my_row);
    p->rows = piece_length(side, p->row_ranks, my_row);
    p->first_column = piece_start(side, p->column_ranks, my_column);
    p->columns = piece_length(side, p->column_ranks, my_column);
    p->stride = p->columns + 2;
    p->up = my_row > 0 ? rank - p->column_ranks : MPI_PROC_NULL;
    p->down = my_row + 1 < p->row_ranks ? rank + p->column_ranks : MPI_PROC_NULL;
    p->left = my_column > 0 ? rank - 1 : MPI_PROC_NULL;
    p->right = my_column + 1 < p->column_ranks ? rank + 1 : MPI_PROC_NULL;
    size_t cells = (size_t)(p->rows + 2) * (size_t)p->stride;
    p->field = allocate(cells);
    p->next = allocate(cells);
    MPI_Type_vector(p->rows, 1, p->stride, MPI_DOUBLE, &p->column);
    MPI_Type_commit(&p->column);

    for (int i = -1; i <= p->rows; i++)
        for (int j = -1; j <= p->columns; j++) {
            int row = p->first_row + i, column = p->first_column + j;
            double value = row < 0 ? HOT : in_heater(p, row, column) ? HEATER : COLD;
            *cell(p, p->field, i, j) = *cell(p, p->next, i, j) = value;
        }
}

/* Starts the exchange of borders: four receives and four sends. A message is tagged with the
 * direction in which it travels: 0 up, 1 down, 2 left, 3 right. */
static void start_exchange(part *p, MPI_Request requests[8])
{
    double *f = p->field;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Irecv(cell(p, f, -1, 0), p->columns, MPI_DOUBLE, p->up, 1, world, &requests[0]);
    MPI_Irecv(cell(p, f, p->rows, 0), p->columns, MPI_DOUBLE, p->down, 0, world, &requests[1]);
    MPI_Irecv(cell(p, f, 0, -1), 1, p->column, p->left, 3, world, &requests[2]);
    MPI_Irecv(cell(p, f, 0, p->columns), 1, p->column, p->right, 2, world, &requests[3]);
    MPI_Isend(cell(p, f, 0, 0), p->columns, MPI_DOUBLE, p->up, 0, world, &requests[4]);
    MPI_Isend(cell(p, f, p->rows - 1, 0), p->columns, MPI_DOUBLE, p->down, 1, world, &requests[5]);
    MPI_Isend(cell(p, f, 0, 0), 1, p->column, p->left, 2, world, &requests[6]);
    MPI_Isend(cell(p, f, 0, p->columns - 1), 1, p->column, p->right, 3, world, &requests[7]);
}

/* Computes the next temperatures of a rectangle and returns the largest change in it. */
static double compute(part *p, int row, int row_end, int column, int column_end)
{
    double most = 0;
    for (int i = row; i < row_end; i++)
        for (int j = column; j < column_end; j++) {
            const double *at = cell(p, p->field, i, j);
            if (in_heater(p, p->first_row + i, p->first_column + j))
                continue;
            double around = at[-p->stride] + at[p->stride] + at[-1] + at[1];
            double change = 0.2 * (around - 4 * *at);
            *cell(p, p->next, i, j) = *at + change;
            most = fmax(most, fabs(change));
        }
    return most;
}

/* One step in time; returns the largest change of this rank's cells. */
static double step(part *p)
{
    MPI_Request requests[8];
    start_exchange(p, requests);
    int last_row = p->rows - 1, last_column = p->columns - 1;
    double most = compute(p, 1, last_row, 1, last_column);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    most = fmax(most, compute(p, 0, 1, 0, p->columns));
    if (last_row > 0)
        most = fmax(most, compute(p, last_row, p->rows, 0, p->columns));
    most = fmax(most, compute(p, 1, last_row, 0, 1));
    if (last_column > 0)
        most = fmax(most, compute(p, 1, last_row, last_column, p->columns));
    double *swap = p->field;
    p->field = p->next;
    p->next = swap;
    return most;
}

/* Collects the whole plate, row after row, at rank 0; NULL elsewhere. */
static double *gather(part *p, int rank, int ranks)
{
    int mine = p->rows * p->columns;
    double *packed = allocate((size_t)mine), *pieces = NULL, *plate = NULL;
    for (int i = 0; i < p->rows; i++)
        memcpy(packed + (size_t)i * (size_t)p->columns, cell(p, p->field, i, 0),
               (size_t)p->columns * sizeof *packed);

    int counts[ranks], starts[ranks];
    MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        size_t cells = (size_t)p->side * (size_t)p->side;
        pieces = allocate(cells);
        plate = allocate(cells);
        for (int r = 0, start = 0; r < ranks; start += counts[r++])
            starts[r] = start;
    }
    MPI_Gatherv(packed, mine, MPI_DOUBLE, pieces, counts, starts, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < ranks; r++) {
        int row = piece_start(p->side, p->row_ranks, r / p->column_ranks);
        int column = piece_start(p->side, p->column_ranks, r % p->column_ranks);
        int columns = piece_length(p->side, p->column_ranks, r % p->column_ranks);
        for (int i = 0; i * columns < counts[r]; i++)
            memcpy(plate + (size_t)(row + i) * (size_t)p->side + column,
                   pieces + starts[r] + (size_t)i * (size_t)columns,
                   (size_t)columns * sizeof *plate);
    }
    free(packed);
    free(pieces);
    return plate;
}

/* Black over red and yellow to white. */
static void colour(double temperature, unsigned char *rgb)
{
    double heat = 3 * (temperature - COLD) / (HOT - COLD);
    for (int i = 0; i < 3; i++) {
        double part = fmin(fmax(heat - i, 0), 1);
        rgb[i] = (unsigned char)(255 * part + 0.5);
    }
}

static int draw(const char *path, const double *plate, int side)
{
    size_t cells = (size_t)side * (size_t)side;
    unsigned char *pixels = malloc(3 * cells);
    if (pixels == NULL)
        return -1;
    for (size_t i = 0; i < cells; i++)
        colour(plate[i], pixels + 3 * i);
    int result = write_png(path, pixels, side, side);
    free(pixels);
    return result;
}

static void show(const double *plate, int side, const char *picture)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)side * (size_t)side; i++)
        sum += plate[i];
    size_t middle = (size_t)(side / 2) * (size_t)side + (size_t)(side / 2);
    printf("heat: mean %.9f, centre %.9f degrees\n", sum / side / side, plate[middle]);
    if (draw(picture, plate, side) == 0)
        printf("heat: picture written to %s\n", picture);
    else
        perror(picture);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int side = argc > 1 ? atoi(argv[1]) : 256, steps = argc > 2 ? atoi(argv[2]) : 1000;
    const char *picture = argc > 3 ? argv[3] : "heat.png";
    int longest = ranks / choose_row_ranks(ranks);
    if (side < longest || side > 16384 || steps < 1) {
        if (rank == 0)
            fprintf(stderr, "heat: needs %d to 16384 cells per side and 1 step or more\n", longest);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    part p;
    set_up(&p, side, rank, ranks);
    if (rank == 0)
        printf("heat: %d x %d cells on %d x %d ranks, %d steps\n", side, side, p.row_ranks,
               p.column_ranks, steps);
    int report_every = (steps + 4) / 5;
    double start = MPI_Wtime();
    for (int s = 1; s <= steps; s++) {
        double mine = step(&p), most;
        if (s % report_every != 0 && s != steps)
            continue;
        MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0)
            printf("heat: step %5d, largest change %.6f degrees\n", s, most);
    }
    double seconds = MPI_Wtime() - start;
    double *plate = gather(&p, rank, ranks);
    if (rank == 0) {
        show(plate, side, picture);
        printf("heat: %.3f s, %.0f million cells per second\n", seconds,
               1e-6 * side * side * steps / seconds);
    }
    free(plate);
    free(p.field);
    free(p.next);
    MPI_Type_free(&p.column);
    MPI_Finalize();
    return 0;
}
