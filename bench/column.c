/* Exchange of a matrix column: by a derived type, and packed by hand into a contiguous buffer. The
 * matrix has ROWS rows of ROW_BYTES; a column takes some bytes of each row. Both ranks send and
 * receive at once, or by turns, and the bytes of both count. The first point comes once more at the end: a library may come to share a
 * matrix that is used long enough. column_type has the derived type alone, of any width. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 1024, ROW_BYTES = 8192 };

typedef struct {
    MPI_Comm comm;
    int other;
    size_t width;           /* bytes of a row that belong to the column */
    char *from, *to;        /* matrices */
    char *packed, *arrived; /* columns by themselves */
    MPI_Datatype column;
} exchange;

static void by_type(void *context, long iterations)
{
    exchange *e = context;
    for (long i = 0; i < iterations; i++)
        MPI_Sendrecv(e->from, 1, e->column, e->other, 1, e->to, 1, e->column, e->other, 1, e->comm,
                     MPI_STATUS_IGNORE);
}

static void by_turns(void *context, long iterations)
{
    exchange *e = context;
    for (long i = 0; i < iterations; i++) {
        if (world_rank == 0)
            MPI_Send(e->from, 1, e->column, e->other, 1, e->comm);
        MPI_Recv(e->to, 1, e->column, e->other, 1, e->comm, MPI_STATUS_IGNORE);
        if (world_rank != 0)
            MPI_Send(e->from, 1, e->column, e->other, 1, e->comm);
    }
}

/* The width is a constant in each copy of the loops, as it would be in a program. */
#define BY_HAND(WIDTH)                                                                             \
    static void by_hand_##WIDTH(void *context, long iterations)                                    \
    {                                                                                              \
        exchange *e = context;                                                                     \
        for (long i = 0; i < iterations; i++) {                                                    \
            for (size_t row = 0; row < ROWS; row++)                                                \
                memcpy(e->packed + row * WIDTH, e->from + row * ROW_BYTES, WIDTH);                 \
            MPI_Sendrecv(e->packed, ROWS * WIDTH, MPI_BYTE, e->other, 1, e->arrived, ROWS * WIDTH, \
                         MPI_BYTE, e->other, 1, e->comm, MPI_STATUS_IGNORE);                       \
            for (size_t row = 0; row < ROWS; row++)                                                \
                memcpy(e->to + row * ROW_BYTES, e->arrived + row * WIDTH, WIDTH);                  \
        }                                                                                          \
    }
BY_HAND(8)
BY_HAND(64)
BY_HAND(1024)

static void point(const char *name, operation run, exchange *e)
{
    long bytes = (long)(ROWS * e->width);
    memset(e->to, 0, (size_t)ROWS * ROW_BYTES);
    run(e, 1);
    for (size_t row = 0; row < ROWS; row++)
        check(name, e->to + row * ROW_BYTES, e->width, row * ROW_BYTES, (unsigned)e->other);
    figure f = measure(e->comm, run, e);
    if (world_rank == 0)
        report_rate(name, bytes, &f, 2e-6 * (double)bytes, "MB/s");
}

static void prepare(exchange *e, MPI_Comm comm)
{
    size_t matrix = (size_t)ROWS * ROW_BYTES;
    *e = (exchange){.comm = comm, .other = 1 - world_rank};
    e->from = memory(matrix);
    e->to = memory(matrix);
    fill(e->from, matrix, (unsigned)world_rank);
}

static void set_column(exchange *e, size_t width)
{
    e->width = width;
    MPI_Type_vector(ROWS, (int)(width / 8), ROW_BYTES / 8, MPI_DOUBLE, &e->column);
    MPI_Type_commit(&e->column);
}

/* Exchanges a column of `width` bytes of each row by its type, at once, and by turns if that has a name. */
static void with_type(const char *name, const char *by_turns_name, exchange *e, size_t width)
{
    set_column(e, width);
    point(name, by_type, e);
    if (by_turns_name)
        point(by_turns_name, by_turns, e);
    MPI_Type_free(&e->column);
}

static void run_pair(MPI_Comm comm, const void *what)
{
    (void)what;
    static const struct {
        size_t width;
        operation by_hand;
        const char *type_name, *turns_name, *hand_name;
    } columns[] = {{8, by_hand_8, "vector_8B", "turns_8B", "byhand_8B"},
                   {64, by_hand_64, "vector_64B", "turns_64B", "byhand_64B"},
                   {1024, by_hand_1024, "vector_1KiB", "turns_1KiB", "byhand_1KiB"}};
    exchange e;
    prepare(&e, comm);
    for (int i = 0; i < 3; i++) {
        e.packed = memory(ROWS * columns[i].width);
        e.arrived = memory(ROWS * columns[i].width);
        with_type(columns[i].type_name, columns[i].turns_name, &e, columns[i].width);
        point(columns[i].hand_name, columns[i].by_hand, &e);
        free(e.packed);
        free(e.arrived);
    }
    with_type("later_8B", NULL, &e, 8);
    free(e.from);
    free(e.to);
}

void run_column(void)
{
    with_pair("column", run_pair, NULL);
}

/* Columns of the sizes that were asked for, as `one` exchanges them; `what` is the benchmark. */
static void each_size(MPI_Comm comm, const char *what, void (*one)(exchange *, size_t width, long size))
{
    static const long usual[] = {65536, 1048576};
    const long *sizes = opt.sizes ? opt.sizes : usual;
    int count = opt.sizes ? opt.size_count : 2;
    exchange e;
    prepare(&e, comm);
    for (int i = 0; i < count; i++) {
        size_t width = (size_t)sizes[i] / ROWS / 8 * 8;
        if (width < 8 || width > ROW_BYTES / 2)
            fail("%s: %ld bytes are no column of a matrix with %d rows", what, sizes[i], ROWS);
        one(&e, width, sizes[i]);
    }
    free(e.from);
    free(e.to);
}

static void both_ways(exchange *e, size_t width, long size)
{
    (void)size;
    with_type("vector", NULL, e, width);
}

static void run_types(MPI_Comm comm, const void *what)
{
    (void)what;
    each_size(comm, "column_type", both_ways);
}

/* Half round trips of a column, by its type alone. */
static void turns(exchange *e, size_t width, long size)
{
    set_column(e, width);
    by_turns(e, 1);
    figure f = measure(e->comm, by_turns, e);
    if (world_rank == 0)
        report_us("column_turns", size, &f, 0.5);
    MPI_Type_free(&e->column);
}

static void run_turns(MPI_Comm comm, const void *what)
{
    (void)what;
    each_size(comm, "column_turns", turns);
}

void run_column_turns(void)
{
    with_pair("column_turns", run_turns, NULL);
}

void run_column_type(void)
{
    with_pair("column_type", run_types, NULL);
}
