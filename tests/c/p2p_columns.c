// ranks: 2 3
// mpiexec: -x TERN_PROMOTE=always
// timeout: 120
// Columns of a matrix that are sent and received by their type again and again, so that the matrix comes to be shared: by all calls, of
// elements and blocks of all widths, next to each other and far apart, up to what goes neither in one packet nor without asking. Whatever way they
// go, the rest of the matrix stays as it was; also after it was freed and allocated again at the same address.
#include "counter.h"

enum { ROWS = 1024, DOUBLES = 128, ROUNDS = 40 };
static double *out, *in;
static int left, right;

static double mark(int from, int round, int row, int at) { return from * 1e6 + round * 1e3 + row + at / 128.0; }

static void fill(int round, int first, int width)
{
    for (int row = 0; row < ROWS; row++) {
        for (int at = 0; at < width; at++) out[row * DOUBLES + first + at] = mark(rank, round, row, at);
        for (int at = 0; at < DOUBLES; at++) in[row * DOUBLES + at] = -1;
    }
}

static void look(int pattern, int round, int first, int width)
{
    int wrong = 0, touched = 0;
    for (int row = 0; row < ROWS; row++)
        for (int at = 0; at < DOUBLES; at++) {
            double is = in[row * DOUBLES + at];
            if (at >= first && at < first + width) wrong += is != mark(left, round, row, at - first);
            else touched += is != -1;
        }
    CHECK(wrong == 0 && touched == 0, "pattern %d, round %d, %d wide at %d: %d wrong, %d touched", pattern, round, width,
          first, wrong, touched);
}

static void move(int pattern, MPI_Datatype from, double *a, MPI_Datatype to, double *b)
{
    MPI_Request requests[2];
    switch (pattern) {
    case 0:
        OK(MPI_Sendrecv(a, 1, from, right, 1, b, 1, to, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case 1:
        OK(MPI_Irecv(b, 1, to, left, 1, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(a, 1, from, right, 1, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        break;
    case 2:
        /* One after the other. */
        if (rank == 0) OK(MPI_Send(a, 1, from, right, 1, MPI_COMM_WORLD));
        OK(MPI_Recv(b, 1, to, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank != 0) OK(MPI_Send(a, 1, from, right, 1, MPI_COMM_WORLD));
        break;
    default:
        /* It is there before anybody asks for it. */
        OK(MPI_Isend(a, 1, from, right, 1, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Probe(left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(b, 1, to, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
}

static void columns(int pattern, int width)
{
    MPI_Datatype column, narrow;
    OK(MPI_Type_vector(ROWS, width, DOUBLES, MPI_DOUBLE, &column));
    /* The same bytes as single doubles, for one side of every other round. */
    OK(MPI_Type_create_hvector(ROWS, 1, DOUBLES * sizeof(double), MPI_DOUBLE, &narrow));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_commit(&narrow));
    for (int round = 0; round < ROUNDS; round++) {
        int first = round % 3 * 20;
        fill(round, first, width);
        move(pattern, column, out + first, round % 2 && width == 1 ? narrow : column, in + first);
        look(pattern, round, first, width);
    }
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&narrow));
}

static MPI_T_pvar_handle promotions;

/* Where memory in one piece is promoted, a matrix is. */
static void as_any_other(number before, int bytes)
{
    number matrices = counted(promotions) - before;
    char *from = calloc(1, bytes), *to = calloc(1, bytes);
    for (int round = 0; round < ROUNDS; round++)
        OK(MPI_Sendrecv(from, bytes, MPI_BYTE, right, 2, to, bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(matrices > 0 || counted(promotions) == before, "no matrix was promoted, but a buffer was");
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (strict()) promotions = counter("promoted");
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int again = 0; again < 2; again++) {
        number before = strict() ? counted(promotions) : 0;
        out = calloc(ROWS * DOUBLES, sizeof(double));
        in = calloc(ROWS * DOUBLES, sizeof(double));
        CHECK(out && in, "no memory");
        for (int pattern = 0; pattern < 4; pattern++)
            for (int width = 1; width <= 16; width *= 2) columns(pattern, width);
        if (strict()) as_any_other(before, ROWS * DOUBLES * sizeof(double));
        free(out);
        free(in);
    }
    if (strict()) end_counting();
    return finish();
}
