// ranks: 1 2 3 5
// timeout: 180
// Accumulates: every operation, all at once from all ranks, counters, and compare and swap.
#include "rma.h"

enum { COUNT = 500 };

/* What rank r gives to element i. */
static int given(int r, int i)
{
    return (r * 7 + i * 3) % 11 + 1;
}

/* Every rank accumulates on rank 0 and on the last; the operations do not depend on the order. */
static void operations(struct window *w, int way)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    long *target = (long *)w->base, mine[COUNT];
    /* Between nodes each of these is a request to a card. */
    const int count = on_one_node(w->comm) ? COUNT : COUNT / 10, part = count / 5;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        long expected[COUNT];
        for (int i = 0; i < count; i++) {
            mine[i] = given(w->rank, i);
            target[i] = i % 5 + 1;
            expected[i] = i % 5 + 1;
            for (int r = 0; r < w->size; r++) {
                long value = given(r, i);
                MPI_Reduce_local(&value, &expected[i], 1, MPI_LONG, ops[o]);
            }
        }
        if (way == FENCE)
            OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
        else {
            see(w->win);
            MPI_Barrier(w->comm);
            OK(MPI_Win_lock_all(0, w->win));
        }
        for (int to = 0; to < w->size; to++) {
            /* In parts, so that those of different ranks lie between each other. */
            for (int i = 0; i < count; i += part)
                OK(MPI_Accumulate(mine + i, part, MPI_LONG, to, place(w, to, i * sizeof(long)), part, MPI_LONG, ops[o],
                                  w->win));
        }
        if (way == FENCE)
            OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
        else {
            OK(MPI_Win_unlock_all(w->win));
            MPI_Barrier(w->comm);
            see(w->win);
        }
        for (int i = 0; i < count; i++)
            CHECK(target[i] == expected[i], "%s, operation %zu, element %d: %ld", kind_names[w->kind], o, i, target[i]);
        MPI_Barrier(w->comm);
    }
}

/* Types of all sizes and classes: everybody adds 1 at once, many times. */
#define COUNT_UP(c_type, mpi_type, op, one, expected_value) \
    do { \
        enum { TIMES = 20, ELEMENTS = 33 }; \
        c_type *target_ = (c_type *)w->base, mine_[ELEMENTS]; \
        memset(w->base, 0, w->bytes); \
        for (int i = 0; i < ELEMENTS; i++) \
            mine_[i] = (one); \
        OK(MPI_Win_fence(0, w->win)); \
        for (int t = 0; t < TIMES; t++) \
            OK(MPI_Accumulate(mine_, ELEMENTS, mpi_type, 0, place(w, 0, 0), ELEMENTS, mpi_type, op, w->win)); \
        OK(MPI_Win_fence(0, w->win)); \
        if (w->rank == 0) \
            for (int i = 0; i < ELEMENTS; i++) \
                CHECK(target_[i] == (c_type)(expected_value), "%s of %s, element %d", #op, #mpi_type, i); \
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win)); \
    } while (0)

static void types(struct window *w)
{
    int n = w->size;
    COUNT_UP(signed char, MPI_SIGNED_CHAR, MPI_SUM, 1, 20 * n);
    COUNT_UP(unsigned char, MPI_UNSIGNED_CHAR, MPI_SUM, 1, 20 * n);
    COUNT_UP(short, MPI_SHORT, MPI_SUM, 1, 20 * n);
    COUNT_UP(unsigned, MPI_UNSIGNED, MPI_SUM, 1, 20 * n);
    COUNT_UP(long long, MPI_LONG_LONG, MPI_SUM, 1, 20 * n);
    COUNT_UP(uint64_t, MPI_UINT64_T, MPI_SUM, 1, 20 * n);
    COUNT_UP(float, MPI_FLOAT, MPI_SUM, 0.5f, 10 * n);
    COUNT_UP(double, MPI_DOUBLE, MPI_SUM, 0.25, 5 * n);
    COUNT_UP(long double, MPI_LONG_DOUBLE, MPI_SUM, 1, 20 * n);
    COUNT_UP(double _Complex, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 1, 20 * n);
    COUNT_UP(MPI_Aint, MPI_AINT, MPI_SUM, 1, 20 * n);
    COUNT_UP(MPI_Count, MPI_COUNT, MPI_MAX, 9, 9);
    COUNT_UP(_Bool, MPI_C_BOOL, MPI_LOR, 1, 1);
    COUNT_UP(unsigned char, MPI_BYTE, MPI_BXOR, 3, 0);
    COUNT_UP(int, MPI_INT, MPI_REPLACE, 42, 42);
    COUNT_UP(double, MPI_DOUBLE, MPI_REPLACE, 2.5, 2.5);
}

struct place_of {
    double value;
    int at;
};

static void pairs(struct window *w)
{
    struct place_of *target = (struct place_of *)w->base, mine = {(w->rank * 5 + 3) % 7, w->rank}, before;
    *target = (struct place_of){-1, -1};
    OK(MPI_Win_fence(0, w->win));
    OK(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, place(w, 0, 0), 1, MPI_DOUBLE_INT, MPI_MAXLOC, w->win));
    OK(MPI_Fetch_and_op(&mine, &before, MPI_DOUBLE_INT, 0, place(w, 0, 0), MPI_MAXLOC, w->win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    if (w->rank == 0) {
        double best = -1;
        int at = -1;
        for (int r = 0; r < w->size; r++)
            if ((r * 5 + 3) % 7 > best)
                best = (r * 5 + 3) % 7, at = r;
        CHECK(target->value == best && target->at == at);
    }
    MPI_Barrier(w->comm);
}

/* Fetch and add: nobody gets the same number. */
static void counter(struct window *w)
{
    enum { TIMES = 200 };
    long *own = (long *)w->base, one = 1, seen[TIMES];
    *own = 0;
    see(w->win);
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock_all(0, w->win));
    for (int i = 0; i < TIMES; i++) {
        OK(MPI_Fetch_and_op(&one, &seen[i], MPI_LONG, 0, place(w, 0, 0), MPI_SUM, w->win));
        OK(MPI_Win_flush(0, w->win));
        CHECK(!i || seen[i] > seen[i - 1]);
    }
    OK(MPI_Win_unlock_all(w->win));
    long *all = malloc(w->size * sizeof seen);
    MPI_Gather(seen, TIMES, MPI_LONG, all, TIMES, MPI_LONG, 0, w->comm);
    if (w->rank == 0) {
        char *found = calloc(w->size, TIMES);
        for (int i = 0; i < w->size * TIMES; i++)
            if (all[i] < 0 || all[i] >= w->size * TIMES || found[all[i]]++)
                CHECK(0, "%s: number %ld came twice or never", kind_names[w->kind], all[i]);
        free(found);
    }
    free(all);
    MPI_Barrier(w->comm);
}

/* The same for elements of each size, with every operation of one element. */
static void fetching(struct window *w)
{
    char c = 3, c_old;
    short s = 5, s_old;
    int n = 7, n_old;
    float f = 1.5f, f_old;
    double d = 0.5, d_old;
    unsigned char none;
    MPI_Barrier(w->comm);
    memset(w->base, 0, 64);
    OK(MPI_Win_fence(0, w->win));
    int me = w->rank;
    OK(MPI_Fetch_and_op(&c, &c_old, MPI_SIGNED_CHAR, me, place(w, me, 1), MPI_SUM, w->win));
    OK(MPI_Fetch_and_op(&s, &s_old, MPI_SHORT, me, place(w, me, 2), MPI_BOR, w->win));
    OK(MPI_Fetch_and_op(&n, &n_old, MPI_INT, me, place(w, me, 4), MPI_REPLACE, w->win));
    OK(MPI_Fetch_and_op(&f, &f_old, MPI_FLOAT, me, place(w, me, 8), MPI_SUM, w->win));
    OK(MPI_Fetch_and_op(&d, &d_old, MPI_DOUBLE, me, place(w, me, 16), MPI_MAX, w->win));
    OK(MPI_Fetch_and_op(NULL, &none, MPI_BYTE, me, place(w, me, 24), MPI_NO_OP, w->win));
    OK(MPI_Win_fence(0, w->win));
    CHECK(c_old == 0 && s_old == 0 && n_old == 0 && f_old == 0 && d_old == 0 && none == 0);
    CHECK(w->base[1] == 3 && *(short *)(w->base + 2) == 5 && *(int *)(w->base + 4) == 7);
    CHECK(*(float *)(w->base + 8) == 1.5f && *(double *)(w->base + 16) == 0.5 && w->base[24] == 0);
    OK(MPI_Fetch_and_op(&n, &n_old, MPI_INT, me, place(w, me, 4), MPI_NO_OP, w->win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    CHECK(n_old == 7);
}

/* A lock made of compare and swap, around an update that is not atomic. */
static void spin_lock(struct window *w)
{
    enum { TIMES = 30 };
    int *own = (int *)w->base, zero = 0, one = 1, was;
    own[0] = own[1] = 0;
    see(w->win);
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock_all(0, w->win));
    for (int i = 0; i < TIMES; i++) {
        int number;
        do {
            OK(MPI_Compare_and_swap(&one, &zero, &was, MPI_INT, 0, place(w, 0, 0), w->win));
            OK(MPI_Win_flush(0, w->win));
        } while (was != 0);
        OK(MPI_Get(&number, 1, MPI_INT, 0, place(w, 0, 4), 1, MPI_INT, w->win));
        OK(MPI_Win_flush(0, w->win));
        number++;
        OK(MPI_Put(&number, 1, MPI_INT, 0, place(w, 0, 4), 1, MPI_INT, w->win));
        OK(MPI_Win_flush(0, w->win));
        OK(MPI_Accumulate(&zero, 1, MPI_INT, 0, place(w, 0, 0), 1, MPI_INT, MPI_REPLACE, w->win));
        OK(MPI_Win_flush(0, w->win));
    }
    OK(MPI_Win_unlock_all(w->win));
    MPI_Barrier(w->comm);
    see(w->win);
    if (w->rank == 0)
        CHECK(own[1] == TIMES * w->size, "%s: %d", kind_names[w->kind], own[1]);
    MPI_Barrier(w->comm);
}

static void swaps(struct window *w)
{
    int me = w->rank;
    long was = -1, two = 2, three = 3;
    unsigned char byte = 9, zero = 0, byte_was;
    memset(w->base, 0, 64);
    *(long *)w->base = 2;
    OK(MPI_Win_fence(0, w->win));
    OK(MPI_Compare_and_swap(&three, &two, &was, MPI_LONG, me, place(w, me, 0), w->win));
    OK(MPI_Win_fence(0, w->win));
    CHECK(was == 2 && *(long *)w->base == 3);
    OK(MPI_Compare_and_swap(&two, &two, &was, MPI_LONG, me, place(w, me, 0), w->win));
    OK(MPI_Compare_and_swap(&byte, &zero, &byte_was, MPI_BYTE, me, place(w, me, 9), w->win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    CHECK(was == 3 && *(long *)w->base == 3 && byte_was == 0 && w->base[9] == 9);
}

/* Get_accumulate of many elements: each rank's sum of what it saw tells the order. */
static void get_accumulates(struct window *w, int large)
{
    long *own = (long *)w->base, mine[COUNT], before[COUNT];
    for (int i = 0; i < COUNT; i++)
        own[i] = 0, mine[i] = 1L << w->rank;
    see(w->win);
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    if (large)
        OK(MPI_Get_accumulate_c(mine, COUNT, MPI_LONG, before, COUNT, MPI_LONG, 0, place(w, 0, 0), COUNT, MPI_LONG,
                                MPI_SUM, w->win));
    else
        OK(MPI_Get_accumulate(mine, COUNT, MPI_LONG, before, COUNT, MPI_LONG, 0, place(w, 0, 0), COUNT, MPI_LONG,
                              MPI_SUM, w->win));
    OK(MPI_Win_unlock(0, w->win));
    for (int i = 0; i < COUNT; i++)
        CHECK(before[i] < 1L << w->size && !(before[i] >> w->rank & 1), "%s: %ld", kind_names[w->kind], before[i]);
    MPI_Barrier(w->comm);
    see(w->win);
    if (w->rank == 0)
        for (int i = 0; i < COUNT; i++)
            CHECK(own[i] == (1L << w->size) - 1);
    MPI_Barrier(w->comm);
    /* An atomic read. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, before, COUNT, MPI_LONG, 0, place(w, 0, 0), COUNT, MPI_LONG, MPI_NO_OP,
                          w->win));
    OK(MPI_Win_unlock(0, w->win));
    CHECK(before[0] == (1L << w->size) - 1 && before[COUNT - 1] == before[0]);
    MPI_Barrier(w->comm);
}

/* Accumulates of one origin on one element keep their order. */
static void order(struct window *w)
{
    int me = w->rank, next = (me + 1) % w->size;
    int values[301];
    OK(MPI_Win_fence(0, w->win));
    for (int i = 1; i <= 300; i++) {
        values[i] = i;
        OK(MPI_Accumulate(&values[i], 1, MPI_INT, next, place(w, next, 0), 1, MPI_INT, MPI_REPLACE, w->win));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    CHECK(*(int *)w->base == 300);
    MPI_Barrier(w->comm);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        if (!kind_differs(kind, MPI_COMM_WORLD))
            continue;
        struct window w = open_window(kind, COUNT * sizeof(long) * 2, MPI_COMM_WORLD);
        operations(&w, FENCE);
        operations(&w, LOCK_ALL);
        types(&w);
        pairs(&w);
        counter(&w);
        fetching(&w);
        spin_lock(&w);
        swaps(&w);
        get_accumulates(&w, 0);
        get_accumulates(&w, 1);
        order(&w);
        close_window(&w);
    }
    return finish();
}
