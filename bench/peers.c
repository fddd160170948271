/* What a process needs for each process that it communicates with: its memory and, where the library counts
 * them as a performance variable, its queue pairs, after it has exchanged messages with 1, 2, 4 ... others. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { TAG = 14, COUNT = 16 };

/* The value of a counter of the library, summed over its elements; -1 without such a counter. */
static double counter(const char *name)
{
    int index, count = 0;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS &&
        MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_SIZE, &index) != MPI_SUCCESS &&
        MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
        return -1;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long values[64] = {0};
    double sum = -1;
    if (MPI_T_pvar_session_create(&session) != MPI_SUCCESS)
        return -1;
    if (MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS) {
        if (count <= 64 && MPI_T_pvar_read(session, handle, values) == MPI_SUCCESS) {
            sum = 0;
            for (int i = 0; i < count; i++)
                sum += (double)values[i];
        }
        MPI_T_pvar_handle_free(session, &handle);
    }
    MPI_T_pvar_session_free(&session);
    return sum;
}

/* This process's own memory in KiB, without what it shares; -1 where the kernel does not tell. */
static double private_kib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double sum = 0;
    long kib;
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Private_Clean: %ld kB", &kib) == 1 || sscanf(line, "Private_Dirty: %ld kB", &kib) == 1)
            sum += (double)kib;
    fclose(file);
    return sum;
}

static void tell(const char *name, long peers, double mine, const char *unit)
{
    double sum, least;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    figure one = {.iterations = 1, .batches = 1};
    if (world_rank == 0 && least >= 0)
        report(name, peers, sum / world_size, least, least, unit, &one);
}

void run_peers(void)
{
    int provided;
    char out[COUNT] = {1}, in[COUNT];
    double memory_of[64], pairs_of[64];
    long points[64];
    int known = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    /* In step d everybody meets the rank d above and the one d below. */
    for (int d = 1; 2 * d <= world_size; d++) {
        int above = (world_rank + d) % world_size, below = (world_rank + world_size - d) % world_size;
        for (int i = 0; i < 2; i++)
            MPI_Sendrecv(out, COUNT, MPI_CHAR, i ? below : above, TAG, in, COUNT, MPI_CHAR, i ? above : below, TAG,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int last = 2 * (d + 1) > world_size;
        if ((d & (d - 1)) != 0 && !last)
            continue;
        points[known] = 2 * d < world_size ? 2 * d : world_size - 1;
        memory_of[known] = private_kib();
        pairs_of[known++] = counter("queue_pairs");
    }
    for (int i = 0; i < known; i++) {
        tell("peers_memory", points[i], memory_of[i], "KiB");
        tell("peers_pairs", points[i], pairs_of[i], "pairs");
    }
    MPI_T_finalize();
}
