// ranks: 1 2 3
// nodes: 1
// Created windows over a part of the heap, whose middle may be made shared in place while its edges stay private: accesses
// at the one, the other and across do what a model does, and accumulates of all ranks to the same elements are atomic.
#include "rma.h"

enum { COUNT = 5000, ROUNDS = 60, STEPS = 400, STRIDE = 3 };

static long model[COUNT], from[COUNT], into[COUNT];
static unsigned long state = 1;

static int below(int limit)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned long)limit);
}

static MPI_Aint element(int i)
{
    return i * (MPI_Aint)sizeof(long);
}

/* A range of elements: a few, or many; often at one of the ends. */
static void some(int *first, int *count)
{
    *count = below(4) ? 1 + below(40) : 1 + below(COUNT);
    int last = COUNT - *count;
    *first = below(3) ? below(last + 1) : below(2) ? 0 : last;
}

/* One access after the other, beside a model. */
static void alone(MPI_Win win, int target)
{
    MPI_Datatype sparse;
    for (int step = 0; step < STEPS; step++) {
        int first, count, kind = below(7);
        some(&first, &count);
        if (kind == 6)
            count = (count + STRIDE - 1) / STRIDE;
        for (int i = 0; i < count; i++) {
            from[i] = below(1000);
            into[i] = -1;
        }
        const MPI_Aint at = element(first);
        long *there = model + first, seen = there[0];
        switch (kind) {
        case 0:
            OK(MPI_Put(from, count, MPI_LONG, target, at, count, MPI_LONG, win));
            memcpy(there, from, (size_t)count * sizeof(long));
            break;
        case 1:
            OK(MPI_Get(into, count, MPI_LONG, target, at, count, MPI_LONG, win));
            OK(MPI_Win_flush(target, win));
            CHECK(memcmp(into, there, (size_t)count * sizeof(long)) == 0, "step %d: got %d from %d", step, count, first);
            break;
        case 2:
            OK(MPI_Accumulate(from, count, MPI_LONG, target, at, count, MPI_LONG, MPI_SUM, win));
            for (int i = 0; i < count; i++)
                there[i] += from[i];
            break;
        case 3:
            OK(MPI_Get_accumulate(from, count, MPI_LONG, into, count, MPI_LONG, target, at, count, MPI_LONG, MPI_MAX, win));
            OK(MPI_Win_flush(target, win));
            CHECK(memcmp(into, there, (size_t)count * sizeof(long)) == 0, "step %d: fetched %d from %d", step, count, first);
            for (int i = 0; i < count; i++)
                there[i] = from[i] > there[i] ? from[i] : there[i];
            break;
        case 4:
            OK(MPI_Accumulate(from, count, MPI_LONG, target, at, count, MPI_LONG, MPI_REPLACE, win));
            memcpy(there, from, (size_t)count * sizeof(long));
            break;
        case 5:
            OK(MPI_Compare_and_swap(from, step % 2 ? &seen : from, into, MPI_LONG, target, at, win));
            OK(MPI_Win_flush(target, win));
            CHECK(into[0] == seen, "step %d: swapped %ld for %ld", step, into[0], seen);
            if (step % 2 || from[0] == seen)
                there[0] = from[0];
            break;
        default: /* elements apart from each other */
            OK(MPI_Type_vector(count, 1, STRIDE, MPI_LONG, &sparse));
            OK(MPI_Type_commit(&sparse));
            first = below(COUNT - STRIDE * (count - 1));
            there = model + first;
            OK(MPI_Accumulate(from, count, MPI_LONG, target, element(first), 1, sparse, MPI_SUM, win));
            OK(MPI_Win_flush(target, win));
            for (int i = 0; i < count; i++)
                there[(long)STRIDE * i] += from[i];
            OK(MPI_Get(into, count, MPI_LONG, target, element(first), 1, sparse, win));
            OK(MPI_Win_flush(target, win));
            for (int i = 0; i < count; i++)
                CHECK(into[i] == there[(long)STRIDE * i], "step %d: %ld in the place of %ld", step, into[i], there[(long)STRIDE * i]);
            OK(MPI_Type_free(&sparse));
        }
        OK(MPI_Win_flush(target, win));
    }
}

/* All add to the same elements: whole rows, every third, single ones at the edges and in the middle. */
static void together(MPI_Win win, int target)
{
    static const int single[] = {0, 1, 600, 2500, COUNT - 601, COUNT - 1};
    MPI_Datatype sparse;
    OK(MPI_Type_vector((COUNT + STRIDE - 1) / STRIDE, 1, STRIDE, MPI_LONG, &sparse));
    OK(MPI_Type_commit(&sparse));
    long one = 1, last[6] = {0}, was = 0;
    for (int i = 0; i < COUNT; i++)
        from[i] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_Accumulate(from, COUNT, MPI_LONG, target, 0, COUNT, MPI_LONG, MPI_SUM, win));
        OK(MPI_Accumulate(from, (COUNT + STRIDE - 1) / STRIDE, MPI_LONG, target, 0, 1, sparse, MPI_SUM, win));
        for (int k = 0; k < 6; k++) {
            OK(MPI_Fetch_and_op(&one, &was, MPI_LONG, target, element(single[k]), MPI_SUM, win));
            OK(MPI_Win_flush(target, win));
            CHECK(was > last[k], "element %d was %ld and then %ld", single[k], last[k], was);
            last[k] = was;
        }
    }
    OK(MPI_Win_flush(target, win));
    OK(MPI_Type_free(&sparse));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    struct window w = open_window(CREATED, COUNT * sizeof(long), MPI_COMM_WORLD);
    long *own = (long *)w.base;
    OK(MPI_Win_lock_all(0, w.win));
    for (int worker = 0; worker < size; worker++) {
        const int target = (worker + 1) % size;
        memset(own, 0, w.bytes);
        OK(MPI_Win_sync(w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == worker)
            alone(w.win, target);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_sync(w.win));
        MPI_Bcast(model, COUNT, MPI_LONG, worker, MPI_COMM_WORLD);
        if (rank == target)
            for (int i = 0; i < COUNT; i++)
                CHECK(own[i] == model[i], "element %d is %ld, not %ld", i, own[i], model[i]);
        memset(model, 0, sizeof model);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    memset(own, 0, w.bytes);
    OK(MPI_Win_sync(w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    together(w.win, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_sync(w.win));
    for (int i = 0; rank == 0 && i < COUNT; i++) {
        const int alone = i == 0 || i == 1 || i == 600 || i == 2500 || i == COUNT - 601 || i == COUNT - 1;
        const long expected = (long)size * ROUNDS * (1 + (i % STRIDE == 0) + alone);
        CHECK(own[i] == expected, "element %d is %ld, not %ld", i, own[i], expected);
    }
    OK(MPI_Win_unlock_all(w.win));
    close_window(&w);
    return finish();
}
