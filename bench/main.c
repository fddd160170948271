/* Command line, start-up and memory figures, and the table of benchmarks. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

options opt = {.time_ms = 50, .batches = 11, .pool_mib = 256, .iterations = 100, .buffers = 1000};
int world_rank, world_size;

static const struct {
    const char *name;
    void (*run)(void);
} benchmarks[] = {
    {"pingpong", run_pingpong},
    {"pingpong_persistent", run_pingpong_persistent},
    {"pingpong_nonblocking", run_pingpong_nonblocking},
    {"pingpong_written", run_pingpong_written},
    {"pingpong_off", run_pingpong_off},
    {"pingpong_alloc", run_pingpong_alloc},
    {"sendrecv", run_sendrecv},
    {"sendrecv_written", run_sendrecv_written},
    {"sendrecv_off", run_sendrecv_off},
    {"halo", run_halo},
    {"halo_written", run_halo_written},
    {"rate", run_rate},
    {"stream", run_stream},
    {"stream_written", run_stream_written},
    {"column", run_column},
    {"column_type", run_column_type},
    {"column_turns", run_column_turns},
    {"irregular", run_irregular},
    {"irregular_stream", run_irregular_stream},
    {"overlap_recv", run_overlap_recv},
    {"overlap_recv_alloc", run_overlap_recv_alloc},
    {"overlap_recv_off", run_overlap_recv_off},
    {"overlap_send", run_overlap_send},
    {"overlap_send_alloc", run_overlap_send_alloc},
    {"overlap_both", run_overlap_both},
    {"overlap_both_written", run_overlap_both_written},
    {"overlap_both_alloc", run_overlap_both_alloc},
    {"barrier", run_barrier},
    {"barrier_tested", run_barrier_tested},
    {"bcast", run_bcast},
    {"bcast_written", run_bcast_written},
    {"allreduce_written", run_allreduce_written},
    {"alltoall_written", run_alltoall_written},
    {"allgather_written", run_allgather_written},
    {"allreduce", run_allreduce},
    {"reduce", run_reduce},
    {"reduce_scatter", run_reduce_scatter},
    {"scan", run_scan},
    {"exscan", run_exscan},
    {"alltoall", run_alltoall},
    {"allgather", run_allgather},
    {"gather", run_gather},
    {"scatter", run_scatter},
    {"comm_split", run_comm_split},
    {"comm_dup", run_comm_dup},
    {"bcast_turns", run_bcast_turns},
    {"scatter_turns", run_scatter_turns},
    {"barrier_persistent", run_barrier_persistent},
    {"bcast_persistent", run_bcast_persistent},
    {"allreduce_persistent", run_allreduce_persistent},
    {"allgather_persistent", run_allgather_persistent},
    {"alltoall_persistent", run_alltoall_persistent},
    {"ibcast", run_ibcast},
    {"iallreduce", run_iallreduce},
    {"iallgather", run_iallgather},
    {"ialltoall", run_ialltoall},
    {"file", run_file},
    {"file_blocks", run_file_blocks},
    {"file_sync", run_file_sync},
    {"file_cold", run_file_cold},
    {"socket", run_socket},
    {"agree", run_agree},
    {"shrink", run_shrink},
    {"notice", run_notice},
    {"lost", run_lost},
    {"put_allocate", run_put_allocate},
    {"put_shared", run_put_shared},
    {"put_create", run_put_create},
    {"put_dynamic", run_put_dynamic},
    {"get_allocate", run_get_allocate},
    {"get_shared", run_get_shared},
    {"get_create", run_get_create},
    {"get_dynamic", run_get_dynamic},
    {"put_stream", run_put_stream},
    {"get_stream", run_get_stream},
    {"put_stream_create", run_put_stream_create},
    {"get_stream_create", run_get_stream_create},
    {"get_computing", run_get_computing},
    {"get_computing_create", run_get_computing_create},
    {"fetch_computing", run_fetch_computing},
    {"fetch_allocate", run_fetch_allocate},
    {"fetch_create", run_fetch_create},
    {"swap_allocate", run_swap_allocate},
    {"accumulate_allocate", run_accumulate_allocate},
    {"accumulate_create", run_accumulate_create},
    {"put_lock", run_put_lock},
    {"put_fence", run_put_fence},
    {"put_post", run_put_post},
    {"put_lock_nocheck", run_put_lock_nocheck},
    {"put_fences", run_put_fences},
    {"put_fences_asserted", run_put_fences_asserted},
    {"fence_idle", run_fence_idle},
    {"fence_idle_asserted", run_fence_idle_asserted},
    {"computing", run_computing},
    {"memory", run_memory},
    {"spectrum", run_spectrum},
    {"gradient", run_gradient},
    {"wavefront", run_wavefront},
    {"solver", run_solver},
    {"peers", run_peers},
    {"pingpong_count", run_pingpong_count},
    {"rooted_count", run_rooted_count},
    {"rma_count", run_rma_count},
    {"epoch_count", run_epoch_count},
    {"hello", NULL}, /* Init and Finalize only; timed in main */
};

enum { BENCHMARKS = sizeof benchmarks / sizeof benchmarks[0], MAX_SIZES = 64 };

static void usage(void)
{
    fprintf(stderr, "usage: tern_mpi_bench BENCHMARK... [--sizes BYTES,...] [--time-ms N] "
                    "[--batches N] [--pool-mib N] [--iterations N] [--buffers N] [--work-us N] [--idle 0|1] [--apart 0|1]\n"
                    "    [--place FILE [--near-ns N] [--patience-ms N]]\n"
                    "benchmarks:");
    for (int i = 0; i < BENCHMARKS; i++)
        fprintf(stderr, " %s", benchmarks[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

static long number(const char *text)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || (*end != '\0' && *end != ',') || value < 0 || value > 1L << 30)
        usage();
    return value;
}

static void set_sizes(const char *list)
{
    static long sizes[MAX_SIZES];
    opt.sizes = sizes;
    for (const char *at = list; at != NULL && opt.size_count < MAX_SIZES;) {
        sizes[opt.size_count++] = number(at);
        at = strchr(at, ',');
        if (at != NULL)
            at++;
    }
}

static int find(const char *name)
{
    for (int i = 0; i < BENCHMARKS; i++)
        if (strcmp(benchmarks[i].name, name) == 0)
            return i;
    return -1;
}

/* Returns how many benchmarks are asked for; their places in the table go to `chosen`. */
static int read_arguments(int argc, char **argv, int *chosen)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strncmp(argv[i], "--", 2) != 0) {
            chosen[count] = find(argv[i]);
            if (chosen[count] < 0 || count + 1 >= BENCHMARKS)
                usage();
            count++;
            continue;
        }
        if (value == NULL)
            usage();
        else if (strcmp(argv[i], "--sizes") == 0)
            set_sizes(value);
        else if (strcmp(argv[i], "--time-ms") == 0)
            opt.time_ms = number(value);
        else if (strcmp(argv[i], "--batches") == 0)
            opt.batches = number(value);
        else if (strcmp(argv[i], "--pool-mib") == 0)
            opt.pool_mib = number(value);
        else if (strcmp(argv[i], "--iterations") == 0)
            opt.iterations = number(value);
        else if (strcmp(argv[i], "--buffers") == 0)
            opt.buffers = number(value);
        else if (strcmp(argv[i], "--work-us") == 0)
            opt.work_us = number(value);
        else if (strcmp(argv[i], "--idle") == 0)
            opt.idle = number(value) != 0;
        else if (strcmp(argv[i], "--apart") == 0)
            opt.apart = number(value) != 0;
        else if (strcmp(argv[i], "--place") == 0)
            opt.place = value;
        else if (strcmp(argv[i], "--near-ns") == 0)
            opt.near_ns = number(value);
        else if (strcmp(argv[i], "--patience-ms") == 0)
            opt.patience_ms = number(value);
        else
            usage();
        i++;
    }
    if (count == 0 || opt.time_ms == 0 || opt.batches < 1 || opt.batches > MAX_BATCHES)
        usage();
    return count;
}

/* This process's proportional share of memory in KiB, or -1 where the kernel does not tell. */
static long proportional_kib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Pss: %ld kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib;
}

/* Mean and maximum over the ranks, after Init, while all ranks are alive. */
void run_memory(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    long mine = proportional_kib(), sum = 0, most = 0, least = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &least, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
    if (world_rank == 0 && least < 0)
        fprintf(stderr, "memory: skipped, /proc/self/smaps_rollup cannot be read\n");
    else if (world_rank == 0) {
        figure one = {.iterations = 1, .batches = 1};
        report("memory", world_size, (double)sum / world_size / 1024, (double)least / 1024,
               (double)most / 1024, "MiB", &one);
    }
}

int main(int argc, char **argv)
{
    double start = now();
    int chosen[BENCHMARKS];
    int count = read_arguments(argc, argv, chosen);
    MPI_Init(&argc, &argv);
    double initialised = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    int hello = 0;
    for (int i = 0; i < count; i++) {
        if (benchmarks[chosen[i]].run != NULL)
            benchmarks[chosen[i]].run();
        else
            hello = 1;
    }
    double ending = now();
    MPI_Finalize();
    if (hello && world_rank == 0) {
        double init = 1e3 * (initialised - start), finalize = 1e3 * (now() - ending);
        printf("init %d %.6g ms\nhello %d %.6g ms\n", world_size, init, world_size, init + finalize);
    }
    return 0;
}
