// ranks: 2 3 4
// timeout: 120
// Accesses over the edges of memory that is attached in pieces side by side, edges inside elements too: all ranks at once at
// the memory of the first one, which is among them.
#include "rma.h"

/* Where pieces begin. An aligned element of 8 bytes lies in three pieces, one of 16 in four. The last piece is so long that
 * it cannot be registered where little memory may be locked. */
enum { EDGES = 7, LAST = 12 << 10, BYTES = LAST + (4 << 20), ROUNDS = 5 };
static const MPI_Aint edges[EDGES + 1] = {0, 4092, 4100, 4101, 4108, 8190, LAST + 3, BYTES};

static char *memory; /* own */
static MPI_Aint first; /* address of the first rank's */
static MPI_Win win;

/* Elements of each type, as numbers. */
#define TYPES(each) \
    each(MPI_LONG, long) each(MPI_INT, int) each(MPI_DOUBLE, double) each(MPI_SHORT, short) each(MPI_LONG_DOUBLE, long double)

/* A row around an edge, and those of it that are summed one by one too. */
enum { ROW = 40, FROM = ROW / 2 - 2, TO = ROW / 2 + 2 };
#define IN_ALL(index) (size * ROUNDS * ((index) >= FROM && (index) < TO ? 3 : 2))

/* All ranks add to a row, with and without what was there, and to single elements. */
#define SUMS(mpi, type) \
    static void sum_##mpi(MPI_Aint edge) \
    { \
        const MPI_Aint at = edge / 16 * 16 - ROW / 2 * (MPI_Aint)sizeof(type); \
        type ones[ROW], old[ROW], one = 1, *all = (type *)(memory + at); \
        const type start = 7; \
        for (int i = 0; i < ROW; i++) { \
            ones[i] = 1; \
            if (rank == 0) \
                all[i] = start; \
        } \
        see(win); \
        MPI_Barrier(MPI_COMM_WORLD); \
        OK(MPI_Win_lock_all(0, win)); \
        for (int round = 0; round < ROUNDS; round++) { \
            OK(MPI_Accumulate(ones, ROW, mpi, 0, first + at, ROW, mpi, MPI_SUM, win)); \
            OK(MPI_Get_accumulate(ones, ROW, mpi, old, ROW, mpi, 0, first + at, ROW, mpi, MPI_SUM, win)); \
            OK(MPI_Win_flush(0, win)); \
            for (int i = 0; i < ROW; i++) \
                CHECK(old[i] >= start + 2 * round + 1 && old[i] < start + IN_ALL(i), #mpi ", edge %d, element %d: %g", \
                      (int)edge, i, (double)old[i]); \
            for (int i = FROM; i < TO; i++) \
                OK(MPI_Fetch_and_op(&one, &old[i], mpi, 0, first + at + i * sizeof(type), MPI_SUM, win)); \
            OK(MPI_Win_flush(0, win)); \
            for (int i = FROM; i < TO; i++) \
                CHECK(old[i] >= start + 3 * round + 2 && old[i] < start + IN_ALL(i), #mpi ", edge %d, element %d: %g", (int)edge, i, (double)old[i]); \
        } \
        OK(MPI_Win_flush_all(win)); \
        MPI_Barrier(MPI_COMM_WORLD); \
        OK(MPI_Get_accumulate(NULL, 0, mpi, old, ROW, mpi, 0, first + at, ROW, mpi, MPI_NO_OP, win)); \
        OK(MPI_Win_unlock_all(win)); \
        for (int i = 0; i < ROW; i++) \
            CHECK(old[i] == start + IN_ALL(i), #mpi ", edge %d, element %d: %g", (int)edge, i, (double)old[i]); \
        MPI_Barrier(MPI_COMM_WORLD); \
        see(win); \
        for (int i = 0; i < ROW && rank == 0; i++) \
            CHECK(all[i] == start + IN_ALL(i), #mpi ", edge %d, element %d: %g", (int)edge, i, (double)all[i]); \
        MPI_Barrier(MPI_COMM_WORLD); \
    }
TYPES(SUMS)

/* Elements that are no plain numbers, or are combined by other operations. */
static void others(MPI_Aint edge)
{
    struct { double value; int at; } pairs[ROW], *there = (void *)(memory + edge / 16 * 16 - ROW / 2 * 16);
    const MPI_Aint at = edge / 16 * 16 - ROW / 2 * 16;
    long values[2 * ROW], old[2 * ROW], *longs = (long *)(memory + at);
    for (int i = 0; i < ROW; i++) {
        pairs[i].value = rank == i % size ? 1000 + i : rank;
        pairs[i].at = rank;
        if (rank == 0) {
            memset(&there[i], 0x55, sizeof there[i]);
            there[i].value = 1;
            there[i].at = -1;
        }
    }
    see(win);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(pairs, ROW, MPI_DOUBLE_INT, 0, first + at, ROW, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < ROW && rank == 0; i++) {
        CHECK(there[i].value == 1000 + i && there[i].at == i % size, "edge %d, pair %d: %g at %d", (int)edge, i,
              there[i].value, there[i].at);
        CHECK(((int *)&there[i])[3] == 0x55555555, "edge %d, behind pair %d", (int)edge, i);
    }
    for (int i = 0; i < 2 * ROW; i++) {
        values[i] = i % size == rank ? 5 * i : 0;
        if (rank == 0)
            longs[i] = -1;
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get_accumulate(values, 2 * ROW, MPI_LONG, old, 2 * ROW, MPI_LONG, 0, first + at, 2 * ROW, MPI_LONG, MPI_MAX, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 2 * ROW; i++) {
        CHECK(old[i] == -1 || old[i] == 0 || old[i] == 5 * i, "edge %d, element %d: %ld", (int)edge, i, old[i]);
        CHECK(rank != 0 || longs[i] == 5 * i, "edge %d, element %d: %ld", (int)edge, i, longs[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A counter that all raise by comparing and swapping. */
#define COUNTER(mpi, type) \
    static void count_##mpi(MPI_Aint at) \
    { \
        const int times = 5; \
        type now = 3, next, was; \
        if (rank == 0) \
            memcpy(memory + at, &now, sizeof now); \
        see(win); \
        MPI_Barrier(MPI_COMM_WORLD); \
        OK(MPI_Win_lock_all(0, win)); \
        for (int i = 0; i < times; i++) { \
            OK(MPI_Fetch_and_op(NULL, &now, mpi, 0, first + at, MPI_NO_OP, win)); \
            OK(MPI_Win_flush(0, win)); \
            for (;; now = was) { \
                next = now + 1; \
                OK(MPI_Compare_and_swap(&next, &now, &was, mpi, 0, first + at, win)); \
                OK(MPI_Win_flush(0, win)); \
                if (was == now || failures) \
                    break; \
            } \
        } \
        OK(MPI_Win_unlock_all(win)); \
        MPI_Barrier(MPI_COMM_WORLD); \
        see(win); \
        memcpy(&now, memory + at, sizeof now); \
        CHECK(rank != 0 || now == 3 + times * size, #mpi " at %d: %d", (int)at, (int)now); \
        MPI_Barrier(MPI_COMM_WORLD); \
    }
COUNTER(MPI_LONG, long)
COUNTER(MPI_INT, int)
COUNTER(MPI_SHORT, short)

/* Own part of all pieces put and got back, plainly and by requests, with a datatype of gaps too. */
static void moves(void)
{
    enum { COLUMN = 3000 };
    const int part = BYTES / size;
    const MPI_Aint mine = first + (MPI_Aint)rank * part;
    char *out = malloc(part), *in = calloc(part, 1);
    for (int i = 0; i < part; i++)
        out[i] = (char)(i * 7 + rank);
    MPI_Request request;
    see(win);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(out, part, MPI_BYTE, 0, mine, part, MPI_BYTE, win));
    OK(MPI_Win_flush_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Get(in, part, MPI_BYTE, 0, mine, part, MPI_BYTE, win));
    OK(MPI_Win_flush(0, win));
    CHECK(!memcmp(in, out, part));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_unlock_all(win));
    see(win);
    for (int owner = 0; owner < size && rank == 0; owner++)
        for (int i = 0; i < part; i++)
            if (memory[owner * part + i] != (char)(i * 7 + owner)) {
                CHECK(0, "byte %d of rank %d", i, owner);
                break;
            }
    if (rank == 0)
        memset(memory, 0, BYTES);
    see(win);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Two shorts of every six for each of up to three ranks. */
    MPI_Datatype gaps;
    OK(MPI_Type_vector(COLUMN, 2, 6, MPI_SHORT, &gaps));
    OK(MPI_Type_commit(&gaps));
    short values[2 * COLUMN], old[2 * COLUMN], twos[2 * COLUMN];
    for (int i = 0; i < 2 * COLUMN; i++) {
        values[i] = i % 1000 + rank;
        twos[i] = 2;
    }
    OK(MPI_Win_lock_all(0, win));
    if (rank < 3) {
        const MPI_Aint column = first + 4 * rank;
        OK(MPI_Rput(values, 2 * COLUMN, MPI_SHORT, 0, column, 1, gaps, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Raccumulate(twos, 2 * COLUMN, MPI_SHORT, 0, column, 1, gaps, MPI_SUM, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        memset(old, 0, sizeof old);
        OK(MPI_Rget_accumulate(twos, 1, gaps, old, 2 * COLUMN, MPI_SHORT, 0, column, 1, gaps, MPI_NO_OP, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < 2 * COLUMN; i++)
            CHECK(old[i] == i % 1000 + rank + 2, "element %d: %d", i, old[i]);
        OK(MPI_Win_flush(0, win));
        memset(old, 0, sizeof old);
        OK(MPI_Rget(old, 2 * COLUMN, MPI_SHORT, 0, column, 1, gaps, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < 2 * COLUMN; i++)
            CHECK(old[i] == i % 1000 + rank + 2, "element %d: %d", i, old[i]);
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Type_free(&gaps));
    free(out);
    free(in);
}

/* A structure that is replaced as bytes is seen as a whole. */
static void structures(void)
{
    char mine[24], seen[24];
    const MPI_Aint at = first + 4090;
    memset(mine, rank + 1, sizeof mine);
    if (rank == 0)
        memset(memory + 4090, 1, sizeof mine);
    see(win);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_Get_accumulate(mine, sizeof mine, MPI_BYTE, seen, sizeof seen, MPI_BYTE, 0, at, sizeof mine, MPI_BYTE,
                              MPI_REPLACE, win));
        OK(MPI_Win_flush(0, win));
        for (int i = 1; i < (int)sizeof seen; i++)
            CHECK(seen[i] == seen[0], "byte %d: %d, first %d", i, seen[i], seen[0]);
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all(void)
{
    for (int i = 0; i < EDGES; i++)
        OK(MPI_Win_attach(win, memory + edges[i], edges[i + 1] - edges[i]));
    MPI_Get_address(memory, &first);
    MPI_Bcast(&first, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    for (int i = 1; i < EDGES; i++) {
#define SUM(mpi, type) sum_##mpi(edges[i]);
        /* A row reaches over the edges beside it too. */
        if (i == 2 || i > 4) {
            TYPES(SUM)
            others(edges[i]);
        }
        count_MPI_LONG(edges[i] / 8 * 8);
        count_MPI_LONG(edges[i] - 5);
        count_MPI_INT(edges[i] / 4 * 4);
        count_MPI_SHORT(edges[i] - 1);
    }
    moves();
    structures();
    for (int i = 0; i < EDGES; i++)
        OK(MPI_Win_detach(win, memory + edges[i]));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (posix_memalign((void **)&memory, 4096, BYTES))
        return 1;
    all();
    free(memory);
    OK(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &memory));
    all();
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(memory));
    return finish();
}
