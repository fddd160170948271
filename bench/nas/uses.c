/* Counts how often a program sends from the same buffer, between the program and any MPI library: loaded before it with
 * LD_PRELOAD. Messages of up to LONGEST bytes count, as those that a library sends eagerly. At the end rank 0 prints
 *     reuse_uses BYTES COUNT uses    the buffer that is used most, of all ranks
 *     reuse_share 0 PERCENT %        of the buffers above SHORTEST bytes, those that are used often enough
 * Often enough is a quarter of the counts that Rashti and Afsahi (CAC 2009, table 2) give for their hosts. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { LONGEST = 8192, SHORTEST = 128, PLACES = 1 << 16 };

static struct use {
    uintptr_t address;
    int bytes;
    int count;
} uses[PLACES];

static const struct {
    int bytes, count;
} enough[] = {{128, 320}, {256, 189}, {512, 108}, {1024, 50}, {2048, 27}, {4096, 14}, {LONGEST, 8}};

static void count(const void *buffer, int elements, MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    int64_t bytes = (int64_t)size * elements;
    if (bytes == 0 || bytes > LONGEST)
        return;
    uintptr_t address = (uintptr_t)buffer;
    uint64_t mixed = (address ^ (uint64_t)bytes << 40) * 0x9e3779b97f4a7c15ull;
    for (int tries = 0; tries < PLACES; tries++) {
        struct use *use = &uses[((mixed >> 48) + (unsigned)tries) % PLACES];
        if (use->count == 0) {
            use->address = address;
            use->bytes = (int)bytes;
        }
        if (use->address == address && use->bytes == (int)bytes) {
            use->count++;
            return;
        }
    }
}

static int is_enough(const struct use *use)
{
    int class = 0;
    while (enough[class].bytes < use->bytes)
        class++;
    return use->count >= enough[class].count;
}

int MPI_Send(const void *buffer, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count(buffer, elements, type);
    return PMPI_Send(buffer, elements, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    count(buffer, elements, type);
    return PMPI_Isend(buffer, elements, type, to, tag, comm, request);
}

int MPI_Finalize(void)
{
    struct {
        int count, bytes;
    } mine = {0, 0}, most;
    int buffers[2] = {0, 0}, all[2], rank;
    for (int i = 0; i < PLACES; i++) {
        if (uses[i].count > mine.count) {
            mine.count = uses[i].count;
            mine.bytes = uses[i].bytes;
        }
        if (uses[i].count > 0 && uses[i].bytes > SHORTEST) {
            buffers[0] += is_enough(&uses[i]);
            buffers[1]++;
        }
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(&mine, &most, 1, MPI_2INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
    PMPI_Reduce(buffers, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("reuse_uses %d %d uses\n", most.bytes, most.count);
        printf("reuse_share 0 %.2f %%\n", all[1] > 0 ? 100.0 * all[0] / all[1] : 0.0);
        fflush(stdout);
    }
    return PMPI_Finalize();
}
