// ranks: 1 2 3
// timeout: 180
// Derived datatypes at both ends: what moves is what packing and unpacking would move.
#include "rma.h"

enum { ROOM = 1 << 16 };

static unsigned seed = 12345;

static int pick(int below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % below;
}

/* Some datatype of `elements` ints that is no larger than ROOM bytes, with no element twice. */
static MPI_Datatype make_type(int elements)
{
    MPI_Datatype type, inner;
    int shape = pick(7), half = elements / 2;
    if (elements == 1)
        shape = 6;
    if (shape == 0 && elements % 4 == 0) {
        MPI_Type_vector(elements / 4, 4, 4 + pick(9), MPI_INT, &type);
    } else if (shape == 1) {
        int lengths[2] = {half, elements - half}, places[2] = {elements + 3, pick(3)};
        MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    } else if (shape == 2 && elements % 2 == 0) {
        MPI_Type_vector(half, 1, 3, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, (MPI_Aint)sizeof(int) * (3 * half + 5), &type);
        MPI_Type_free(&inner);
        MPI_Datatype twice;
        MPI_Type_contiguous(2, type, &twice);
        MPI_Type_free(&type);
        type = twice;
    } else if (shape == 3) {
        int *places = malloc(elements * sizeof *places);
        for (int i = 0; i < elements; i++)
            places[i] = 2 * (elements - 1 - i) + (i % 2);
        MPI_Type_create_indexed_block(elements, 1, places, MPI_INT, &type);
        free(places);
    } else if (shape == 4 && elements % 6 == 0) {
        int sizes[2] = {elements / 6 + 2, 9}, parts[2] = {elements / 6, 6}, starts[2] = {1, 2};
        MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    } else if (shape == 5) {
        int lengths[2] = {1, elements - 1};
        MPI_Aint places[2] = {8, 40};
        MPI_Datatype types[2] = {MPI_INT, MPI_INT};
        MPI_Type_create_struct(2, lengths, places, types, &type);
    } else {
        MPI_Type_contiguous(elements, MPI_INT, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static void fill(char *memory, int salt)
{
    for (int i = 0; i < ROOM; i++)
        memory[i] = (char)(i * 13 + salt);
}

/* Moves elements from one layout to another within this process, by MPI_Pack and MPI_Unpack. */
static void move(const char *from, MPI_Datatype from_type, char *to, MPI_Datatype to_type, int count)
{
    int at = 0, end = 0;
    char *packed = malloc(ROOM);
    MPI_Pack(from, count, from_type, packed, ROOM, &at, MPI_COMM_SELF);
    MPI_Unpack(packed, at, &end, to, count, to_type, MPI_COMM_SELF);
    free(packed);
}

static void one(struct window *w, int way, int elements, int count)
{
    MPI_Datatype near = make_type(elements), far = make_type(elements);
    int next = (w->rank + 1) % w->size, last = (w->rank + w->size - 1) % w->size;
    MPI_Aint lb, extent, bytes[2];
    MPI_Type_get_extent(near, &lb, &extent);
    bytes[0] = extent * count;
    MPI_Type_get_extent(far, &lb, &extent);
    bytes[1] = extent * count;
    if (bytes[0] <= ROOM - 200 && bytes[1] <= ROOM - 200) {
        char *memory = malloc(ROOM), *theirs = malloc(ROOM), *expected = malloc(ROOM);
        int shift = pick(20) * 4;
        /* Put, then the same by accumulating, then get back. */
        for (int how = 0; how < 3; how++) {
            fill(memory, w->rank);
            fill(theirs, last);
            fill(w->base, w->rank + 50);
            fill(expected, how == 2 ? w->rank : w->rank + 50);
            open_epoch(w, way, next, last);
            MPI_Aint at = place(w, next, shift);
            if (how == 0)
                OK(MPI_Put(memory, count, near, next, at, count, far, w->win));
            else if (how == 1)
                OK(MPI_Accumulate(memory, count, near, next, at, count, far, MPI_REPLACE, w->win));
            else
                OK(MPI_Get(memory, count, near, next, at, count, far, w->win));
            close_epoch(w, way, next);
            if (how < 2) {
                move(theirs, near, expected + shift, far, count);
                CHECK(!memcmp(w->base, expected, ROOM), "%s, %s, way %d, %d times %d", kind_names[w->kind],
                      way_names[way], how, count, elements);
            } else {
                fill(theirs, next + 50);
                move(theirs + shift, far, expected, near, count);
                CHECK(!memcmp(memory, expected, ROOM), "%s, %s, get, %d times %d", kind_names[w->kind],
                      way_names[way], count, elements);
            }
        }
        free(memory);
        free(theirs);
        free(expected);
    }
    MPI_Type_free(&near);
    MPI_Type_free(&far);
}

/* Sums in place of moves, with what was there before fetched into a third layout. */
static void sums(struct window *w, int elements)
{
    MPI_Datatype near = make_type(elements), far = make_type(elements), third = make_type(elements);
    int next = (w->rank + 1) % w->size, last = (w->rank + w->size - 1) % w->size;
    char *memory = calloc(ROOM, 1), *result = calloc(ROOM, 1), *dense = calloc(ROOM, 1);
    int *numbers = (int *)dense;
    MPI_Datatype flat;
    MPI_Type_contiguous(elements, MPI_INT, &flat);
    MPI_Type_commit(&flat);
    for (int i = 0; i < elements; i++)
        numbers[i] = i + 1000 * w->rank;
    move(dense, flat, memory, near, 1);
    for (int i = 0; i < elements; i++)
        numbers[i] = 7 * i;
    move(dense, flat, w->base, far, 1);
    open_epoch(w, LOCK, next, last);
    OK(MPI_Get_accumulate(memory, 1, near, result, 1, third, next, place(w, next, 0), 1, far, MPI_SUM, w->win));
    close_epoch(w, LOCK, next);
    memset(dense, 0, ROOM);
    move(w->base, far, dense, flat, 1);
    for (int i = 0; i < elements; i++)
        CHECK(numbers[i] == 7 * i + i + 1000 * last, "%s: element %d is %d", kind_names[w->kind], i, numbers[i]);
    memset(dense, 0, ROOM);
    move(result, third, dense, flat, 1);
    for (int i = 0; i < elements; i++)
        CHECK(numbers[i] == 7 * i, "%s: fetched element %d is %d", kind_names[w->kind], i, numbers[i]);
    MPI_Barrier(w->comm);
    MPI_Type_free(&flat);
    MPI_Type_free(&near);
    MPI_Type_free(&far);
    MPI_Type_free(&third);
    free(memory);
    free(result);
    free(dense);
}

/* A datatype may be freed while the access goes on. */
static void freed_early(struct window *w)
{
    MPI_Datatype column;
    int next = (w->rank + 1) % w->size, *memory = calloc(ROOM, 1);
    for (int i = 0; i < ROOM / 4; i++)
        memory[i] = i;
    memset(w->base, 0, ROOM);
    OK(MPI_Win_fence(0, w->win));
    MPI_Type_vector(1000, 2, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    OK(MPI_Put(memory, 1, column, next, place(w, next, 0), 1, column, w->win));
    MPI_Type_free(&column);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    for (int i = 0; i < 4000; i++)
        CHECK(((int *)w->base)[i] == (i % 4 < 2 && i < 3998 + 2 ? i : 0), "element %d", i);
    free(memory);
    MPI_Barrier(w->comm);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int sizes[] = {1, 2, 4, 12, 24, 60, 240, 600};
    for (int kind = 0; kind < KINDS; kind++) {
        if (!kind_differs(kind, MPI_COMM_WORLD))
            continue;
        struct window w = open_window(kind, ROOM, MPI_COMM_WORLD);
        for (int turn = 0; turn < 40; turn++)
            one(&w, turn % WAYS, sizes[pick(8)], 1 + pick(4));
        for (int turn = 0; turn < 10; turn++)
            sums(&w, sizes[pick(8)]);
        freed_early(&w);
        close_window(&w);
    }
    return finish();
}
