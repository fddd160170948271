/* Random datatypes of one basic type, and a plain list of where their elements lie. */
#ifndef RANDOM_TYPE_H
#define RANDOM_TYPE_H

#include "check.h"
#include <stdint.h>

static unsigned long long random_state;

static inline long draw(long below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (long)((random_state >> 33) % (unsigned long long)below);
}

/* What operations an element takes, and how its values are read. */
enum class { SIGNED, UNSIGNED, BYTES, FLOATING, COMPLEX, PAIR, OPAQUE };

/* A predefined type: one or two runs of bytes in an extent. */
struct basic {
    MPI_Datatype handle;
    const char *name;
    enum class class;
    int extent, size, second; /* second: where the second part of a pair begins */
};

enum { BASICS = 15, MOST_ELEMENTS = 6000, LEVELS = 3 };
static struct basic basics[BASICS];

static inline void know_basics(void)
{
    int next = 0;
#define BASIC(handle, class, extent, size, second) basics[next++] = (struct basic){handle, #handle, class, extent, size, second}
    BASIC(MPI_INT8_T, SIGNED, 1, 1, 0);
    BASIC(MPI_UINT8_T, UNSIGNED, 1, 1, 0);
    BASIC(MPI_BYTE, BYTES, 1, 1, 0);
    BASIC(MPI_SHORT, SIGNED, 2, 2, 0);
    BASIC(MPI_INT, SIGNED, 4, 4, 0);
    BASIC(MPI_UNSIGNED, UNSIGNED, 4, 4, 0);
    BASIC(MPI_LONG, SIGNED, 8, 8, 0);
    BASIC(MPI_UINT64_T, UNSIGNED, 8, 8, 0);
    BASIC(MPI_FLOAT, FLOATING, 4, 4, 0);
    BASIC(MPI_DOUBLE, FLOATING, 8, 8, 0);
    BASIC(MPI_C_DOUBLE_COMPLEX, COMPLEX, 16, 16, 0);
    BASIC(MPI_LONG_DOUBLE, OPAQUE, 16, 16, 0);
    BASIC(MPI_2INT, PAIR, 8, 8, 4);
    BASIC(MPI_SHORT_INT, PAIR, 8, 6, 4);
    BASIC(MPI_DOUBLE_INT, PAIR, 16, 12, 8);
#undef BASIC
}

struct type {
    MPI_Datatype handle;
    const struct basic *basic;
    int named; /* predefined, and not to be freed */
    int elements;
    MPI_Aint *at; /* of each element, in the order of the type map */
    MPI_Aint lb, extent;
    char text[500];
};

static inline void add_element(struct type *type, MPI_Aint at)
{
    type->at = realloc(type->at, (size_t)(type->elements + 1) * sizeof *type->at);
    type->at[type->elements++] = at;
}

/* Adds `length` elements of `child` that lie one extent apart. */
static inline void add_block(struct type *type, const struct type *child, MPI_Aint at, int length)
{
    for (int i = 0; i < length; i++)
        for (int k = 0; k < child->elements; k++)
            add_element(type, at + i * child->extent + child->at[k]);
}

static inline void free_type(struct type *type)
{
    if (!type->named)
        OK(MPI_Type_free(&type->handle));
    free(type->at);
}

/* Takes the place of `child`, of which it was made. */
static inline void replace(struct type *type, struct type *child, const char *how)
{
    snprintf(type->text, sizeof type->text, "%s of %.300s", how, child->text);
    OK(MPI_Type_get_extent(type->handle, &type->lb, &type->extent));
    type->basic = child->basic;
    free_type(child);
    *child = *type;
}

static inline void wrap_blocks(struct type *child, int most)
{
    enum { BLOCKS = 5 };
    struct type type = {0};
    char how[120] = "";
    int blocks = (int)draw(BLOCKS) + 1, lengths[BLOCKS], form = (int)draw(4), same = (int)draw(3);
    MPI_Aint places[BLOCKS];
    MPI_Datatype children[BLOCKS];
    for (int i = 0; i < blocks; i++) {
        const int long_one = blocks == 1 && child->elements == 1 && draw(2);
        lengths[i] = form == 3 ? same : long_one ? (int)draw(most) : (int)draw(4);
        places[i] = draw(8) ? draw(3000) - 1000 : draw(30000) - 10000;
        if (draw(2))
            places[i] = places[i] / 16 * 16;
        children[i] = child->handle;
        const MPI_Aint place = form == 1 ? (places[i] %= 40) * child->extent : places[i];
        add_block(&type, child, place, lengths[i]);
        snprintf(how + strlen(how), sizeof how - strlen(how), "%d at %ld ", lengths[i], (long)places[i]);
    }
    int small[BLOCKS];
    for (int i = 0; i < blocks; i++)
        small[i] = (int)places[i];
    if (form == 0)
        OK(MPI_Type_create_hindexed(blocks, lengths, places, child->handle, &type.handle));
    else if (form == 1)
        OK(MPI_Type_indexed(blocks, lengths, small, child->handle, &type.handle));
    else if (form == 2)
        OK(MPI_Type_create_struct(blocks, lengths, places, children, &type.handle));
    else
        OK(MPI_Type_create_hindexed_block(blocks, same, places, child->handle, &type.handle));
    replace(&type, child, how);
}

static inline void wrap_vector(struct type *child)
{
    struct type type = {0};
    char how[120];
    const int blocks = (int)draw(12), length = (int)draw(4), bytes = (int)draw(2);
    const MPI_Aint stride = bytes ? draw(400) - 150 : draw(12) - 5, step = bytes ? stride : stride * child->extent;
    for (int i = 0; i < blocks; i++)
        add_block(&type, child, i * step, length);
    if (bytes)
        OK(MPI_Type_create_hvector(blocks, length, stride, child->handle, &type.handle));
    else
        OK(MPI_Type_vector(blocks, length, (int)stride, child->handle, &type.handle));
    snprintf(how, sizeof how, "%d by %d every %ld", blocks, length, (long)step);
    replace(&type, child, how);
}

static inline void wrap_subarray(struct type *child)
{
    struct type type = {0};
    char how[120];
    int sizes[2], parts[2], starts[2], order = draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int i = 0; i < 2; i++) {
        sizes[i] = (int)draw(30) + 1;
        parts[i] = (int)draw(sizes[i]) + 1;
        starts[i] = (int)draw(sizes[i] - parts[i] + 1);
    }
    const int outer = order == MPI_ORDER_C ? 0 : 1, inner = 1 - outer;
    for (int i = 0; i < parts[outer]; i++)
        add_block(&type, child, ((starts[outer] + i) * (MPI_Aint)sizes[inner] + starts[inner]) * child->extent, parts[inner]);
    OK(MPI_Type_create_subarray(2, sizes, parts, starts, order, child->handle, &type.handle));
    snprintf(how, sizeof how, "%d by %d from %d, %d in %d by %d, order %d", parts[0], parts[1], starts[0], starts[1], sizes[0], sizes[1],
             outer);
    replace(&type, child, how);
}

static inline void wrap_bounds(struct type *child)
{
    struct type type = {0};
    char how[120];
    MPI_Aint lb = draw(200) - 100, extent = child->extent + (draw(3) ? draw(100) : draw(200) - 100);
    if (draw(2))
        lb = child->lb, extent = child->elements * (MPI_Aint)child->basic->extent;
    add_block(&type, child, 0, 1);
    OK(MPI_Type_create_resized(child->handle, lb, extent, &type.handle));
    snprintf(how, sizeof how, "bounds %ld and %ld", (long)lb, (long)extent);
    replace(&type, child, how);
}

static inline void wrap_contiguous(struct type *child)
{
    struct type type = {0};
    char how[120];
    const int length = child->elements == 1 ? (int)draw(1500) : (int)draw(5);
    add_block(&type, child, 0, length);
    OK(MPI_Type_contiguous(length, child->handle, &type.handle));
    snprintf(how, sizeof how, "%d", length);
    replace(&type, child, how);
}

/* One run, away from its address. */
static inline void wrap_run(struct type *child)
{
    struct type type = {0};
    char how[120];
    const int length = child->elements == 1 ? (int)draw(1 + MOST_ELEMENTS / child->basic->extent * 2) : (int)draw(3);
    const MPI_Aint place = draw(4000) - 2000;
    add_block(&type, child, place, length);
    OK(MPI_Type_create_hindexed(1, &length, &place, child->handle, &type.handle));
    snprintf(how, sizeof how, "%d at %ld", length, (long)place);
    replace(&type, child, how);
}

static inline struct type one_of(const struct basic *basic)
{
    struct type type = {.basic = basic, .extent = basic->extent};
    OK(MPI_Type_dup(basic->handle, &type.handle));
    snprintf(type.text, sizeof type.text, "%s", basic->name);
    add_element(&type, 0);
    return type;
}

/* The predefined type itself. */
static inline struct type named_type(const struct basic *basic)
{
    struct type type = {.handle = basic->handle, .basic = basic, .extent = basic->extent, .named = 1};
    snprintf(type.text, sizeof type.text, "%s itself", basic->name);
    add_element(&type, 0);
    return type;
}

/* A committed type of that basic type. */
static inline struct type random_type(const struct basic *basic)
{
    struct type type = one_of(basic);
    for (int level = (int)draw(LEVELS + 1); level > 0 && type.elements < MOST_ELEMENTS / 100; level--) {
        switch (draw(8)) {
        case 0:
        case 1:
            wrap_blocks(&type, MOST_ELEMENTS);
            break;
        case 2:
            wrap_vector(&type);
            break;
        case 3:
            wrap_subarray(&type);
            break;
        case 4:
            wrap_contiguous(&type);
            break;
        case 5:
        case 6:
            wrap_run(&type);
            break;
        default:
            wrap_bounds(&type);
        }
    }
    OK(MPI_Type_commit(&type.handle));
    return type;
}

/* A committed type with as many elements, which do not overlap: in one run, or in a few apart from each other. */
static inline struct type random_type_of(const struct basic *basic, int elements)
{
    enum { BLOCKS = 4 };
    struct type type = {0}, one = one_of(basic);
    int lengths[BLOCKS], blocks = elements > 0 && draw(3) ? (int)draw(BLOCKS) + 1 : 1;
    MPI_Aint places[BLOCKS], next = blocks > 1 || draw(3) == 0 ? draw(4000) - 2000 : 0;
    for (int i = 0, left = elements; i < blocks; i++) {
        lengths[i] = i == blocks - 1 ? left : (int)draw(left + 1);
        left -= lengths[i];
        places[i] = next;
        next += lengths[i] * (MPI_Aint)basic->extent + (draw(2) ? draw(50) : 0);
    }
    /* The last block may come first in memory. */
    if (blocks > 1 && draw(2))
        places[blocks - 1] = places[0] - lengths[blocks - 1] * (MPI_Aint)basic->extent - draw(100);
    for (int i = 0; i < blocks; i++)
        add_block(&type, &one, places[i], lengths[i]);
    OK(MPI_Type_create_hindexed(blocks, lengths, places, basic->handle, &type.handle));
    replace(&type, &one, "blocks");
    OK(MPI_Type_commit(&one.handle));
    return one;
}

/* Where element `i` of several of a type begins, from their address. */
static inline MPI_Aint element_at(const struct type *type, long i)
{
    return i / type->elements * type->extent + type->at[i % type->elements];
}

/* Bytes from the beginning of an element to the end of its data. */
static inline int footprint(const struct basic *basic)
{
    return basic->class == PAIR ? basic->second + (int)sizeof(int) : basic->size;
}

/* From the lowest byte of so many of a type to the one behind the highest. */
static inline void span_of(const struct type *type, int count, MPI_Aint *low, MPI_Aint *high)
{
    *low = *high = 0;
    for (long i = 0; i < (long)count * type->elements; i++) {
        const MPI_Aint at = element_at(type, i), end = at + footprint(type->basic);
        *low = i == 0 || at < *low ? at : *low;
        *high = i == 0 || end > *high ? end : *high;
    }
}

#endif
