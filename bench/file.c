/* Files: all ranks write to one file and read from it, beside the same by pwrite and pread, as dd would.
 *
 *     file_*           each rank its own part of the file, in accesses of `size` bytes
 *     file_blocks_*    blocks of `size` bytes in turns, by a view, in one access
 *     file_sync_*      the same, and then MPI_File_sync
 *     file_cold_*      the same, of a file of which nothing is cached: what is not written of a page is read first
 *
 * `plain` is without MPI, `all` collective. The file lies in TMPDIR, or /tmp, and stays in the page
 * cache, but for file_cold; the bytes of all ranks count. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 16 << 20, BLOCKS = 4 << 20 };

static const long file_sizes[] = {4096, 65536, 1048576, 16777216};
static const long block_sizes[] = {64, 512, 4096, 65536};

typedef struct {
    MPI_File file;
    int plain;      /* the same file past MPI */
    char *buffer;
    long size;      /* of an access, or of a block */
    MPI_Offset own; /* where this rank's part begins */
    int synced;     /* what was written goes to the disk */
    int cold;       /* nothing of it is cached before */
} target;

static void transfer_plain(const target *t, long at, long offset, int writing)
{
    ssize_t moved = writing ? pwrite(t->plain, t->buffer + at, (size_t)t->size, offset)
                            : pread(t->plain, t->buffer + at, (size_t)t->size, offset);
    if (moved != t->size)
        fail("%s of %ld bytes at %ld: %s", writing ? "pwrite" : "pread", t->size, offset, strerror(errno));
}

/* The return codes count, since errors with files do not end a job. */
static void need(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code != MPI_SUCCESS && MPI_Error_string(code, text, &length) == MPI_SUCCESS)
        fail("%s: %s", what, text);
}

/* --- own parts --- */

static void parts_plain(const target *t, long iterations, int writing)
{
    for (long i = 0; i < iterations; i++)
        for (long at = 0; at < PART; at += t->size)
            transfer_plain(t, at, (long)t->own + at, writing);
}

static void write_plain(void *t, long iterations)
{
    parts_plain(t, iterations, 1);
}

static void read_plain(void *t, long iterations)
{
    parts_plain(t, iterations, 0);
}

static void write_own(void *context, long iterations)
{
    target *t = context;
    for (long i = 0; i < iterations; i++)
        for (long at = 0; at < PART; at += t->size)
            need(MPI_File_write_at(t->file, t->own + at, t->buffer + at, (int)t->size, MPI_BYTE,
                                   MPI_STATUS_IGNORE), "MPI_File_write_at");
}

static void read_own(void *context, long iterations)
{
    target *t = context;
    for (long i = 0; i < iterations; i++)
        for (long at = 0; at < PART; at += t->size)
            need(MPI_File_read_at(t->file, t->own + at, t->buffer + at, (int)t->size, MPI_BYTE,
                                  MPI_STATUS_IGNORE), "MPI_File_read_at");
}

/* --- blocks in turns; the view of the file is set --- */

/* Before an access to blocks. */
static void begin_blocks(const target *t)
{
    if (!t->cold)
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0 && posix_fadvise(t->plain, 0, 0, POSIX_FADV_DONTNEED) != 0)
        fail("posix_fadvise");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* After it. */
static void end_blocks(const target *t, int past)
{
    if (!t->synced)
        return;
    if (past && fsync(t->plain) != 0)
        fail("fsync: %s", strerror(errno));
    if (!past)
        need(MPI_File_sync(t->file), "MPI_File_sync");
}

static void blocks_plain(const target *t, long iterations, int writing)
{
    for (long i = 0; i < iterations; i++) {
        begin_blocks(t);
        for (long at = 0; at < BLOCKS; at += t->size)
            transfer_plain(t, at, at * world_size + world_rank * t->size, writing);
        end_blocks(t, 1);
    }
}

static void blocks_write_plain(void *t, long iterations)
{
    blocks_plain(t, iterations, 1);
}

static void blocks_read_plain(void *t, long iterations)
{
    blocks_plain(t, iterations, 0);
}

#define BY_VIEW(NAME, CALL)                                                                        \
    static void NAME(void *context, long iterations)                                               \
    {                                                                                              \
        target *t = context;                                                                       \
        for (long i = 0; i < iterations; i++) {                                                    \
            begin_blocks(t);                                                                       \
            need(CALL(t->file, 0, t->buffer, BLOCKS, MPI_BYTE, MPI_STATUS_IGNORE), #CALL);         \
            end_blocks(t, 0);                                                                      \
        }                                                                                          \
    }
BY_VIEW(blocks_write, MPI_File_write_at)
BY_VIEW(blocks_write_all, MPI_File_write_at_all)
BY_VIEW(blocks_read, MPI_File_read_at)
BY_VIEW(blocks_read_all, MPI_File_read_at_all)

/* --- what is measured --- */

typedef struct {
    const char *name;
    operation run;
    int writing;
} description;

static const description parts[] = {
    {"file_write_plain", write_plain, 1},
    {"file_write", write_own, 1},
    {"file_read_plain", read_plain, 0},
    {"file_read", read_own, 0},
};

static const description blocks[] = {
    {"file_blocks_write_plain", blocks_write_plain, 1},
    {"file_blocks_write", blocks_write, 1},
    {"file_blocks_write_all", blocks_write_all, 1},
    {"file_blocks_read_plain", blocks_read_plain, 0},
    {"file_blocks_read", blocks_read, 0},
    {"file_blocks_read_all", blocks_read_all, 0},
};

static const description synced[] = {
    {"file_sync_write_plain", blocks_write_plain, 1},
    {"file_sync_write", blocks_write, 1},
    {"file_sync_write_all", blocks_write_all, 1},
};

static const description cold[] = {
    {"file_cold_write_plain", blocks_write_plain, 1},
    {"file_cold_write", blocks_write, 1},
    {"file_cold_write_all", blocks_write_all, 1},
};

/* What was written is read past MPI, and what is read was written past MPI. */
static void verify(const description *d, target *t, long bytes, void (*past)(const target *, long, int))
{
    unsigned seed = (unsigned)world_rank + (d->writing ? 1000 : 2000);
    fill(t->buffer, (size_t)bytes, seed);
    if (d->writing)
        d->run(t, 1);
    else
        past(t, 1, 1);
    memset(t->buffer, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (d->writing)
        past(t, 1, 0);
    else
        d->run(t, 1);
    check(d->name, t->buffer, (size_t)bytes, 0, seed);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void point(const description *d, target *t, long bytes, void (*past)(const target *, long, int))
{
    verify(d, t, bytes, past);
    figure f = measure(MPI_COMM_WORLD, d->run, t);
    if (world_rank == 0)
        report_rate(d->name, t->size, &f, 1e-6 * (double)bytes * world_size, "MB/s");
}

/* A file of its own for each size, which nobody sees after it: the kernel caches a file in pieces as long as the first
 * writes were, and longer ones are faster ever after. */
static void open_all(target *t, long bytes)
{
    char name[256];
    const char *place = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/tern-bench-XXXXXX", place ? place : "/tmp");
    if (world_rank == 0)
        close(mkstemp(name));
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &t->file), name);
    t->plain = open(name, O_RDWR);
    if (t->plain < 0)
        fail("%s: %s", name, strerror(errno));
    t->buffer = memory((size_t)bytes);
    t->own = (MPI_Offset)bytes * world_rank;
}

static void close_all(target *t)
{
    close(t->plain);
    need(MPI_File_close(&t->file), "MPI_File_close");
    free(t->buffer);
}

void run_file(void)
{
    const long *sizes = opt.sizes ? opt.sizes : file_sizes;
    int count = opt.sizes ? opt.size_count : (int)(sizeof file_sizes / sizeof *file_sizes);
    target t = {0};
    for (int i = 0; i < count; i++) {
        t.size = sizes[i];
        if (t.size < 1 || PART % t.size != 0)
            fail("file: %ld is no size that divides %d", t.size, PART);
        open_all(&t, PART);
        for (size_t j = 0; j < sizeof parts / sizeof *parts; j++)
            point(&parts[j], &t, PART, parts_plain);
        close_all(&t);
    }
}

static void run_blocks(const description *all, size_t many, int sync, int uncached)
{
    const long *sizes = opt.sizes ? opt.sizes : block_sizes;
    int count = opt.sizes ? opt.size_count : (int)(sizeof block_sizes / sizeof *block_sizes);
    target t = {.synced = sync, .cold = uncached};
    for (int i = 0; i < count; i++) {
        t.size = sizes[i];
        if (t.size < 1 || BLOCKS % t.size != 0)
            fail("file_blocks: %ld is no size that divides %d", t.size, BLOCKS);
        open_all(&t, BLOCKS);
        MPI_Datatype block, turn;
        MPI_Type_contiguous((int)t.size, MPI_BYTE, &block);
        MPI_Type_create_resized(block, 0, (MPI_Aint)t.size * world_size, &turn);
        MPI_Type_commit(&turn);
        need(MPI_File_set_view(t.file, (MPI_Offset)t.size * world_rank, MPI_BYTE, turn, "native", MPI_INFO_NULL),
             "MPI_File_set_view");
        for (size_t j = 0; j < many; j++)
            point(&all[j], &t, BLOCKS, blocks_plain);
        MPI_Type_free(&block);
        MPI_Type_free(&turn);
        close_all(&t);
    }
}

void run_file_blocks(void)
{
    run_blocks(blocks, sizeof blocks / sizeof *blocks, 0, 0);
}

void run_file_sync(void)
{
    run_blocks(synced, sizeof synced / sizeof *synced, 1, 0);
}

void run_file_cold(void)
{
    run_blocks(cold, sizeof cold / sizeof *cold, 1, 1);
}
