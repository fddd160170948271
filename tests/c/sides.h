// What tests of collectives by regions have in common: random numbers, and memory of blocks of ints in layouts whose every int is checked.
#ifndef SIDES_H
#define SIDES_H
#include "refuse.h"
#include <errno.h>
#include <string.h>

enum { GUARD = 64 };

static unsigned long long state = 88172645463325252ull;

static unsigned random_below(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 20) % n;
}

/* From now on the kernel copies nothing between processes for this one. */
static int refuse_all(void)
{
    struct sock_filter program[16], *at = load(program, offsetof(struct seccomp_data, nr));
    return put_in_force(program, refuse_copying(at, EPERM)) == 0;
}

/* Memory of `blocks` blocks of `n` ints, as one of the layouts has it. */
typedef struct {
    MPI_Datatype type;
    int count, layout;
    size_t ints; /* of memory for one block */
    int *memory;
} Side;

enum { DENSE, STRIDED, SCATTERED, LAYOUTS };

/* Where int `at` of a block is. */
static size_t place(int layout, size_t at)
{
    switch (layout) {
    case STRIDED: return at / 512 * 600 + at % 512;
    case SCATTERED: return at / 4 * 10 + (at % 4 < 2 ? at % 4 : at % 4 + 3);
    default: return at;
    }
}

static Side make(int layout, int n, int blocks)
{
    Side side = {MPI_INT, n, layout, (size_t)n, NULL};
    MPI_Datatype whole;
    if (layout == STRIDED) {
        OK(MPI_Type_contiguous(512, MPI_INT, &whole));
        OK(MPI_Type_create_resized(whole, 0, 600 * sizeof(int), &side.type));
        OK(MPI_Type_free(&whole));
        side.count = n / 512;
        side.ints = (size_t)side.count * 600;
    } else if (layout == SCATTERED) {
        int lengths[] = {2, 2}, displacements[] = {0, 5};
        OK(MPI_Type_indexed(2, lengths, displacements, MPI_INT, &whole));
        OK(MPI_Type_create_resized(whole, 0, 10 * sizeof(int), &side.type));
        OK(MPI_Type_free(&whole));
        side.count = n / 4;
        side.ints = (size_t)side.count * 10;
    }
    if (layout != DENSE) OK(MPI_Type_commit(&side.type));
    side.memory = malloc((side.ints * (size_t)blocks + GUARD) * sizeof(int));
    for (size_t at = 0; at < side.ints * (size_t)blocks + GUARD; at++)
        side.memory[at] = -1;
    return side;
}

static void end(Side *side)
{
    if (side->layout != DENSE) OK(MPI_Type_free(&side->type));
    free(side->memory);
}

static int value(int round, int block, size_t at)
{
    return (int)(((unsigned)round * 7919u + (unsigned)block * 104729u + (unsigned)at) & 0x7fffffffu);
}

static void fill(Side *side, int where, int round, int block, int n)
{
    for (int at = 0; at < n; at++)
        side->memory[side->ints * (size_t)where + place(side->layout, (size_t)at)] = value(round, block, (size_t)at);
}

/* Checks and clears a block, after which all must be as `make` left it. */
static void take(Side *side, int where, int round, int block, int n)
{
    long bad = 0;
    for (int at = 0; at < n; at++) {
        int *found = &side->memory[side->ints * (size_t)where + place(side->layout, (size_t)at)];
        bad += *found != value(round, block, (size_t)at);
        *found = -1;
    }
    CHECK(bad == 0, "round %d, block %d of %d ints: %ld are wrong", round, block, n, bad);
}

static void untouched(const Side *side, int blocks)
{
    long bad = 0;
    for (size_t at = 0; at < side->ints * (size_t)blocks + GUARD; at++)
        bad += side->memory[at] != -1;
    CHECK(bad == 0, "%ld ints around the data were written", bad);
}

#endif
