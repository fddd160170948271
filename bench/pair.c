/* Buffers of a pair of ranks, and where in them the messages lie. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

size_t slot_of(long size)
{
    return ((size_t)size + 127) / 64 * 64;
}

static char *one(size_t bytes, origin from)
{
    if (from == HEAP)
        return memory(bytes);
    void *buffer = NULL;
    if (MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &buffer) != MPI_SUCCESS || buffer == NULL)
        fail("MPI_Alloc_mem gives no %zu bytes", bytes);
    memset(buffer, 0, bytes);
    return buffer;
}

void pair_allocate(pair *p, size_t bytes, origin from)
{
    p->from = from;
    p->send = one(bytes, from);
    p->receive = one(bytes, from);
    fill(p->send, bytes, (unsigned)p->me);
}

void pair_free(pair *p)
{
    if (p->from == HEAP) {
        free(p->send);
        free(p->receive);
    } else {
        MPI_Free_mem(p->send);
        MPI_Free_mem(p->receive);
    }
}

size_t advance(pair *p)
{
    size_t at = p->next * p->slot_bytes;
    p->next += p->stride;
    if (p->next >= p->slots)
        p->next -= p->slots;
    return at;
}

/* Slots in cache: one. Off cache: steps of about 0.618 of the pool, through all slots, so that
 * neither a cache nor a prefetcher knows the next one. */
void lay_out(pair *p, long size, size_t pool_bytes)
{
    p->size = size;
    p->next = 0;
    p->slot_bytes = slot_of(size);
    p->slots = pool_bytes ? pool_bytes / p->slot_bytes : 1;
    if (p->slots < 1)
        fail("--pool-mib: no room for a message of %ld bytes", size);
    p->stride = (size_t)(0.618 * (double)p->slots);
    for (;; p->stride++) {
        size_t a = p->stride, b = p->slots;
        while (b != 0) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            break;
    }
    p->stride %= p->slots;
}

void with_pair(const char *name, void (*body)(MPI_Comm comm, const void *what), const void *what)
{
    if (world_size < 2)
        fail("%s needs two ranks", name);
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < 2 ? 0 : MPI_UNDEFINED, world_rank, &comm);
    if (comm != MPI_COMM_NULL) {
        body(comm, what);
        MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}
