/* Buffers, what is written into them, the check that it arrived, and what a program does with messages. */
#include "bench.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "tern_mpi_bench: rank %d: ", world_rank);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void *memory(size_t bytes)
{
    void *buffer = NULL;
    size_t pages = (bytes + 4095) / 4096 + 1;
    if (posix_memalign(&buffer, 4096, pages * 4096) != 0)
        fail("no memory for a buffer of %zu bytes", bytes);
    memset(buffer, 0, pages * 4096);
    return buffer;
}

static uint64_t pattern(uint64_t place, unsigned seed)
{
    return (place + 1) * 0x9e3779b97f4a7c15u ^ ((uint64_t)seed << 32);
}

void fill(void *buffer, size_t bytes, unsigned seed)
{
    unsigned char *to = buffer;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = pattern(at / 8, seed);
        memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

void check(const char *what, const void *buffer, size_t bytes, size_t offset, unsigned seed)
{
    const unsigned char *from = buffer;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = pattern((offset + at) / 8, seed);
        if (memcmp(from + at, &word, bytes - at < 8 ? bytes - at : 8) != 0)
            fail("%s with %zu bytes: wrong data in the eight bytes from %zu", what, bytes, at);
    }
}

void make(char *message, long size)
{
    for (long i = 0; i < size; i += 64) {
        volatile char *line = message + i;
        *line = *line;
    }
}

void use(const char *message, long size)
{
    for (long i = 0; i < size; i += 64)
        (void)*(const volatile char *)(message + i);
}
