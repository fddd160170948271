/* Messages of an irregular datatype: blocks of 4 KiB with gaps of several lengths, from memory with gaps to memory with gaps. Nothing but a list tells
 * where the blocks lie. To and fro, and one way in windows of four messages. */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, WINDOW = 4 };

typedef struct {
    MPI_Comm comm;
    int other, blocks;
    size_t bytes; /* that a message lies in, with its gaps */
    char *from, *to;
    MPI_Datatype type;
} irregular;

static const long sizes[] = {262144, 1048576, 4194304};

/* Where block `i` begins: behind gaps of 64 to 320 bytes. */
static size_t place_of(int i)
{
    return (size_t)i * (BLOCK + 192) + (size_t)(i * 7 % 3) * 64;
}

static void pingpong(void *context, long iterations)
{
    irregular *m = context;
    for (long i = 0; i < iterations; i++) {
        if (world_rank == 0)
            MPI_Send(m->from, 1, m->type, m->other, 1, m->comm);
        MPI_Recv(m->to, 1, m->type, m->other, 1, m->comm, MPI_STATUS_IGNORE);
        if (world_rank != 0)
            MPI_Send(m->from, 1, m->type, m->other, 1, m->comm);
    }
}

static void stream(void *context, long iterations)
{
    irregular *m = context;
    MPI_Request requests[WINDOW];
    for (long i = 0; i < iterations; i++) {
        for (int k = 0; k < WINDOW; k++)
            if (world_rank == 0)
                MPI_Isend(m->from + (size_t)k * m->bytes, 1, m->type, 1, 1, m->comm, &requests[k]);
            else
                MPI_Irecv(m->to + (size_t)k * m->bytes, 1, m->type, 0, 1, m->comm, &requests[k]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (world_rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, m->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, m->comm);
    }
}

/* Every block has come, of as many messages as there were. */
static void prove(const char *name, operation run, irregular *m, int messages)
{
    memset(m->to, 0, WINDOW * m->bytes);
    run(m, 1);
    for (int k = 0; k < messages; k++)
        for (int i = 0; i < m->blocks; i++) {
            size_t at = (size_t)k * m->bytes + place_of(i);
            check(name, m->to + at, BLOCK, at, (unsigned)m->other);
        }
}

static void prepare(irregular *m, MPI_Comm comm, long size)
{
    *m = (irregular){.comm = comm, .other = 1 - world_rank, .blocks = (int)(size / BLOCK)};
    if (m->blocks < 1)
        fail("irregular: %ld bytes are no block", size);
    m->bytes = place_of(m->blocks) / 64 * 64 + 128;
    m->from = memory(WINDOW * m->bytes);
    m->to = memory(WINDOW * m->bytes);
    fill(m->from, WINDOW * m->bytes, (unsigned)world_rank);
    MPI_Aint *at = malloc((size_t)m->blocks * sizeof *at);
    for (int i = 0; i < m->blocks; i++)
        at[i] = (MPI_Aint)place_of(i);
    MPI_Type_create_hindexed_block(m->blocks, BLOCK, at, MPI_BYTE, &m->type);
    MPI_Type_commit(&m->type);
    free(at);
}

static void run_pair(MPI_Comm comm, const void *what)
{
    int one_way = what != NULL;
    const long *list = opt.sizes ? opt.sizes : sizes;
    int count = opt.sizes ? opt.size_count : (int)(sizeof sizes / sizeof sizes[0]);
    for (int i = 0; i < count; i++) {
        irregular m;
        prepare(&m, comm, list[i]);
        double bytes = (double)m.blocks * BLOCK;
        const char *name = one_way ? "irregular_stream" : "irregular";
        operation run = one_way ? stream : pingpong;
        prove(name, run, &m, !one_way ? 1 : world_rank == 0 ? 0 : WINDOW);
        figure f = measure(comm, run, &m);
        if (world_rank == 0 && one_way)
            report_rate(name, list[i], &f, 1e-6 * WINDOW * bytes, "MB/s");
        else if (world_rank == 0)
            report_us(name, list[i], &f, 0.5);
        MPI_Type_free(&m.type);
        free(m.from);
        free(m.to);
    }
}

void run_irregular(void)
{
    with_pair("irregular", run_pair, NULL);
}

void run_irregular_stream(void)
{
    with_pair("irregular_stream", run_pair, "one way");
}
