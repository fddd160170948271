/* More memory, and longer memory, than there is: for programs that count beyond 2^31. Defines _GNU_SOURCE, so it
 * comes first. */
#ifndef LARGE_H
#define LARGE_H

#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (16L << 20)
#define MORE_THAN_INT ((1L << 31) + 4097)

/* `length` bytes of addresses over one piece of memory, again and again. */
static inline unsigned char *repeated(size_t length)
{
    int file = memfd_create("piece", 0);
    if (file < 0 || ftruncate(file, PIECE) != 0)
        return NULL;
    size_t whole = (length + PIECE - 1) / PIECE * PIECE;
    unsigned char *base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (size_t at = 0; at < whole; at += PIECE)
        if (mmap(base + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
            return NULL;
    close(file);
    return base;
}

/* `length` bytes of zeros that take memory where they are written. */
static inline unsigned char *sparse(size_t length)
{
    return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static inline unsigned char pattern(size_t at) { return (unsigned char)(at * 31 + (at >> 12)); }

static inline void fill(unsigned char *piece)
{
    for (size_t i = 0; i < PIECE; i++)
        piece[i] = pattern(i);
}

static inline int is_filled(const unsigned char *piece)
{
    for (size_t i = 0; i < PIECE; i++)
        if (piece[i] != pattern(i))
            return 0;
    return 1;
}

/* Gives back what `repeated` or `sparse` has given. */
static inline void give_back(unsigned char *base, size_t length)
{
    munmap(base, (length + PIECE - 1) / PIECE * PIECE);
}

#endif
