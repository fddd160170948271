/* tern_mpi_bench: the benchmark program that runs, from one source, on every MPI library.
 *
 * Output: one line per figure, written by rank 0,
 *     name size median unit key=value...
 * where size is in bytes (or ranks, for the start-up figures and those of lost ranks), and median is the median over
 * the batches of that point. Lines that libraries print by themselves do not have this form.
 */
#ifndef TERN_MPI_BENCH_H
#define TERN_MPI_BENCH_H

#include <mpi.h>
#include <stddef.h>

enum { MAX_BATCHES = 101 };

/* What the command line asks for. */
typedef struct {
    long time_ms;       /* budget of one point (one size of one benchmark), milliseconds */
    long batches;       /* batches that share the budget, at most MAX_BATCHES */
    long pool_mib;      /* memory that the off-cache benchmarks walk through, MiB */
    long iterations;    /* for those whose names end with _count: rounds */
    long buffers;       /* of spectrum */
    long work_us;       /* of a stage of the solver; 0: as much as suits the messages */
    int idle;           /* work is sleep (work.h) */
    int apart;          /* buffers lie on pages of their own (reuse.c) */
    const char *place;  /* file of two zeroed cache lines for place.c, or NULL */
    long near_ns;       /* what a line takes between cores near each other; 0: not known */
    long patience_ms;   /* how long the whole run waits for that */
    const long *sizes;  /* message sizes in bytes, or NULL for each benchmark's own list */
    int size_count;
} options;

extern options opt;
extern int world_rank, world_size;

/* --- measure.c --- */

/* Runs `iterations` rounds of an operation; called on every rank of the communicator. */
typedef void (*operation)(void *context, long iterations);

/* How long a cache line took from core to core: the least and the most that was seen, nanoseconds; 0: nothing. */
typedef struct {
    double least, most;
} way;

typedef struct figure {
    double median;  /* seconds per iteration, maximum over the ranks, median over the batches */
    double low, high;
    long iterations; /* iterations per batch */
    int batches;
    way line;
    const struct figure *before; /* the same, measured where the cores were not near each other; or NULL */
} figure;

/* Seconds, from a clock that does not need MPI. */
double now(void);

/* Collective over `comm`: finds how many iterations fill a batch, then times the batches. The
 * result is valid at rank 0 of `comm`, and what is before it until the next one. */
figure measure(MPI_Comm comm, operation run, void *context);

/* Prints one result line. `per_second` figures have low and high swapped by the caller. */
void report(const char *name, long size, double median, double low, double high, const char *unit,
            const figure *f);

/* Prints the time of one iteration in microseconds, and of those before. */
void report_us(const char *name, long size, const figure *f, double iterations_per_operation);

/* Prints amount / time in the given unit, and of those before. */
void report_rate(const char *name, long size, const figure *f, double amount, const char *unit);

/* Measures and prints an operation of all ranks without data. */
void run_bare(const char *name, operation run);

/* --- memory.c --- */

/* Page-aligned memory whose pages are touched; ends the job when there is none. */
void *memory(size_t bytes);

/* Fills words with values that follow from their place and from `seed`. */
void fill(void *buffer, size_t bytes, unsigned seed);

/* Ends the job unless `buffer` holds `bytes` of the pattern of `seed`, from byte `offset` on (a
 * multiple of eight). `what` names the benchmark. */
void check(const char *what, const void *buffer, size_t bytes, size_t offset, unsigned seed);

/* A program makes a message before it sends it: each cache line of it is written, with what it holds. */
void make(char *message, long size);
/* And it reads what it has received. */
void use(const char *message, long size);

/* Writes a message and ends the job. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* --- benchmarks; each returns after all ranks have finished with it --- */
void run_pingpong(void);
void run_pingpong_persistent(void);
void run_pingpong_nonblocking(void);
void run_pingpong_written(void);
void run_pingpong_off(void);
void run_pingpong_alloc(void);
void run_sendrecv(void);
void run_sendrecv_written(void);
void run_sendrecv_off(void);
void run_halo(void);
void run_halo_written(void);
void run_rate(void);
void run_stream(void);
void run_stream_written(void);
void run_column(void);
void run_column_type(void);
void run_column_turns(void);
void run_irregular(void);
void run_irregular_stream(void);
void run_overlap_recv(void);
void run_overlap_recv_alloc(void);
void run_overlap_recv_off(void);
void run_overlap_send(void);
void run_overlap_send_alloc(void);
void run_overlap_both(void);
void run_overlap_both_written(void);
void run_overlap_both_alloc(void);
void run_pingpong_count(void);
void run_rooted_count(void);
void run_rma_count(void);
void run_epoch_count(void);
void run_barrier(void);
void run_barrier_tested(void);
void run_bcast(void);
void run_bcast_written(void);
void run_allreduce_written(void);
void run_alltoall_written(void);
void run_allgather_written(void);
void run_allreduce(void);
void run_reduce(void);
void run_reduce_scatter(void);
void run_scan(void);
void run_exscan(void);
void run_alltoall(void);
void run_allgather(void);
void run_gather(void);
void run_scatter(void);
void run_comm_split(void);
void run_comm_dup(void);
void run_bcast_turns(void);
void run_scatter_turns(void);
void run_barrier_persistent(void);
void run_bcast_persistent(void);
void run_allreduce_persistent(void);
void run_allgather_persistent(void);
void run_alltoall_persistent(void);
void run_ibcast(void);
void run_iallreduce(void);
void run_iallgather(void);
void run_ialltoall(void);
void run_put_allocate(void);
void run_put_shared(void);
void run_put_create(void);
void run_put_dynamic(void);
void run_get_allocate(void);
void run_get_shared(void);
void run_get_create(void);
void run_get_dynamic(void);
void run_put_stream(void);
void run_get_stream(void);
void run_put_stream_create(void);
void run_get_stream_create(void);
void run_get_computing(void);
void run_get_computing_create(void);
void run_fetch_computing(void);
void run_fetch_allocate(void);
void run_fetch_create(void);
void run_swap_allocate(void);
void run_accumulate_allocate(void);
void run_accumulate_create(void);
void run_put_lock(void);
void run_put_fence(void);
void run_put_post(void);
void run_put_lock_nocheck(void);
void run_put_fences(void);
void run_put_fences_asserted(void);
void run_fence_idle(void);
void run_fence_idle_asserted(void);
void run_computing(void);
void run_memory(void);
void run_spectrum(void);
void run_gradient(void);
void run_wavefront(void);
void run_solver(void);
void run_peers(void);
void run_file(void);
void run_file_blocks(void);
void run_file_sync(void);
void run_file_cold(void);
void run_socket(void);
void run_agree(void);
void run_shrink(void);
void run_notice(void);
void run_lost(void);

#endif
