/* What accumulates do to an element, in plain C. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "random_type.h"
#include <complex.h>

enum op { SUM, PROD, MIN, MAX, LAND, LOR, LXOR, BAND, BOR, BXOR, MINLOC, MAXLOC, REPLACE, NO_OP, OPS };
static const char *const op_names[OPS] = {"sum",  "product", "min", "max",    "land",   "lor",     "lxor",
                                          "band", "bor",     "bxor", "minloc", "maxloc", "replace", "no op"};

static inline MPI_Op op_handle(enum op op)
{
    const MPI_Op handles[OPS] = {MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,   MPI_LOR,     MPI_LXOR,
                                 MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    return handles[op];
}

static inline int takes(const struct basic *basic, enum op op)
{
    if (op == REPLACE || op == NO_OP)
        return 1;
    switch (basic->class) {
    case SIGNED:
    case UNSIGNED:
        return op <= BXOR;
    case BYTES:
        return op >= BAND && op <= BXOR;
    case FLOATING:
        return op <= MAX;
    case COMPLEX:
        return op == SUM;
    case PAIR:
        return op == MINLOC || op == MAXLOC;
    default:
        return 0;
    }
}

/* True where arbitrary bytes are no values that all compute with alike. */
static inline int needs_values(const struct basic *basic, enum op op)
{
    return op < REPLACE && basic->class >= FLOATING;
}

static inline void copy_element(const struct basic *basic, char *to, const char *from)
{
    if (basic->class != PAIR) {
        memcpy(to, from, (size_t)basic->size);
        return;
    }
    const int second = sizeof(int), first = basic->size - second;
    memcpy(to, from, (size_t)first);
    memcpy(to + basic->second, from + basic->second, (size_t)second);
}

static inline uint64_t load_integer(const struct basic *basic, const char *at)
{
    uint64_t value = 0;
    memcpy(&value, at, (size_t)basic->size);
    const int unused = 64 - 8 * basic->size;
    if (basic->class == SIGNED)
        value = (uint64_t)((int64_t)(value << unused) >> unused);
    return value;
}

static inline uint64_t combine_integers(const struct basic *basic, enum op op, uint64_t a, uint64_t b)
{
    const int less = basic->class == SIGNED ? (int64_t)a < (int64_t)b : a < b;
    switch (op) {
    case SUM:
        return a + b;
    case PROD:
        return a * b;
    case MIN:
        return less ? a : b;
    case MAX:
        return less ? b : a;
    case LAND:
        return a && b;
    case LOR:
        return a || b;
    case LXOR:
        return !a != !b;
    case BAND:
        return a & b;
    case BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static inline double combine_numbers(enum op op, double a, double b)
{
    return op == SUM ? a + b : op == PROD ? a * b : op == MIN ? (a < b ? a : b) : a > b ? a : b;
}

static inline double first_of_pair(const struct basic *basic, const char *at)
{
    if (basic->handle == MPI_DOUBLE_INT) {
        double value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    int whole;
    short half;
    memcpy(&whole, at, sizeof whole);
    memcpy(&half, at, sizeof half);
    return basic->handle == MPI_2INT ? whole : half;
}

static inline void combine_pairs(const struct basic *basic, enum op op, char *target, const char *operand)
{
    const double a = first_of_pair(basic, operand), b = first_of_pair(basic, target);
    int i, j;
    memcpy(&i, operand + basic->second, sizeof i);
    memcpy(&j, target + basic->second, sizeof j);
    if (a == b ? i < j : op == MINLOC ? a < b : a > b)
        copy_element(basic, target, operand);
}

/* target = operand op target */
static inline void combine(const struct basic *basic, enum op op, char *target, const char *operand)
{
    if (op == NO_OP)
        return;
    if (op == REPLACE) {
        copy_element(basic, target, operand);
    } else if (basic->class <= BYTES) {
        const uint64_t value = combine_integers(basic, op, load_integer(basic, operand), load_integer(basic, target));
        memcpy(target, &value, (size_t)basic->size);
    } else if (basic->class == PAIR) {
        combine_pairs(basic, op, target, operand);
    } else if (basic->class == COMPLEX) {
        double complex a, b;
        memcpy(&a, operand, sizeof a);
        memcpy(&b, target, sizeof b);
        a += b;
        memcpy(target, &a, sizeof a);
    } else if (basic->size == 4) {
        float a, b;
        memcpy(&a, operand, sizeof a);
        memcpy(&b, target, sizeof b);
        a = (float)combine_numbers(op, a, b);
        memcpy(target, &a, sizeof a);
    } else {
        double a, b;
        memcpy(&a, operand, sizeof a);
        memcpy(&b, target, sizeof b);
        a = combine_numbers(op, a, b);
        memcpy(target, &a, sizeof a);
    }
}

/* A small value of that type. */
static inline void small_value(const struct basic *basic, char *at)
{
    const int value = (int)draw(17) - 8, index = (int)draw(5);
    const float single = (float)value;
    const double number = value;
    const double complex both = value + index * I;
    const short half = (short)value;
    if (basic->class == COMPLEX) {
        memcpy(at, &both, sizeof both);
    } else if (basic->class == FLOATING) {
        memcpy(at, basic->size == 4 ? (const void *)&single : &number, (size_t)basic->size);
    } else if (basic->class == PAIR) {
        if (basic->handle == MPI_DOUBLE_INT)
            memcpy(at, &number, sizeof number);
        else if (basic->handle == MPI_2INT)
            memcpy(at, &value, sizeof value);
        else
            memcpy(at, &half, sizeof half);
        memcpy(at + basic->second, &index, sizeof index);
    }
}

#endif
