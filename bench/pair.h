/* Two ranks and their buffers, as all point-to-point benchmarks use them. */
#ifndef TERN_MPI_BENCH_PAIR_H
#define TERN_MPI_BENCH_PAIR_H

#include "bench.h"

/* Where buffers come from. */
typedef enum {
    HEAP,      /* malloc, used again and again */
    ALLOCATED, /* MPI_Alloc_mem */
} origin;

/* One side of a pair. Message number k lies at slot(k) of `send` and of `receive`; in cache there
 * is one slot only. */
typedef struct {
    MPI_Comm comm;
    int me, other;
    long size;
    char *send, *receive;
    origin from;
    size_t slot_bytes, slots, stride;
    size_t next; /* the slot of the next message */
    int window;
    MPI_Request *requests;
} pair;

/* The bytes that a message of this size occupies in a buffer. */
size_t slot_of(long size);

/* Gives both buffers `bytes` bytes and fills the one to send with the pattern of this rank. */
void pair_allocate(pair *p, size_t bytes, origin from);
void pair_free(pair *p);

/* Prepares for messages of `size` bytes; pool_bytes is 0 for messages in cache. */
void lay_out(pair *p, long size, size_t pool_bytes);

/* The place of the next message, in bytes from the start of either buffer. */
size_t advance(pair *p);

/* Runs `body` on ranks 0 and 1, with a communicator of their own, while the others wait in a
 * barrier. `name` is for the message that there are too few ranks. */
void with_pair(const char *name, void (*body)(MPI_Comm comm, const void *what), const void *what);

#endif
