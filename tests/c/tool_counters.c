// ranks: 2
// nodes: 1
// The counters tell the truth: what is done between two readings is what they differ by, exactly.
#include "check.h"
#include <signal.h>
#include <unistd.h>

enum { K = 50, LONG = 1 << 20 };
typedef unsigned long long number;

static MPI_T_pvar_session session;

/* The counters that are looked at: index in the library, and value at the last call of `mark`. */
static struct counter {
    const char *name;
    int class;
    MPI_T_pvar_handle handle;
    number before;
} counters[] = {
#define COUNT(name) {name, MPI_T_PVAR_CLASS_COUNTER, NULL, 0}, {name "_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL, 0}
    COUNT("sent_short"), COUNT("sent_eager"), COUNT("sent_direct"), COUNT("sent_packets"), COUNT("sent_rendezvous"),
    COUNT("sent_self"), COUNT("received"), COUNT("mapped"), COUNT("shared"), COUNT("kernel"), COUNT("streamed"),
#define PLAIN(name) {name, MPI_T_PVAR_CLASS_COUNTER, NULL, 0}
    COUNT("put"), COUNT("get"), COUNT("accumulate"),
    {"file_read_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL, 0}, {"file_write_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL, 0},
    PLAIN("ring_full"), PLAIN("unexpected"), PLAIN("published"), PLAIN("published_filled"), PLAIN("published_packets"),
    PLAIN("published_withdrawn"), PLAIN("collective_lines"), PLAIN("collective_messages"), PLAIN("barrier"),
    PLAIN("bcast"), PLAIN("gather"), PLAIN("scatter"), PLAIN("allgather"), PLAIN("alltoall"), PLAIN("reduce"),
    PLAIN("allreduce"), PLAIN("reduce_scatter"), PLAIN("scan"),
    {"unexpected_queue", MPI_T_PVAR_CLASS_LEVEL, NULL, 0}, {"unexpected_memory", MPI_T_PVAR_CLASS_LEVEL, NULL, 0},
    {"unexpected_queue_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL, 0},
    {"unexpected_memory_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL, 0},
    {"published_queue", MPI_T_PVAR_CLASS_LEVEL, NULL, 0},
};
enum { COUNTERS = sizeof counters / sizeof *counters };

static struct counter *find(const char *name)
{
    for (int i = 0; i < COUNTERS; i++)
        if (!strcmp(counters[i].name, name))
            return &counters[i];
    fprintf(stderr, "no counter %s\n", name);
    abort();
}

static number now(const char *name)
{
    number value = 0;
    OK(MPI_T_pvar_read(session, find(name)->handle, &value));
    return value;
}

/* What has been counted since the last mark. */
static number since(const char *name)
{
    return now(name) - find(name)->before;
}

static void mark(void)
{
    for (int i = 0; i < COUNTERS; i++)
        counters[i].before = now(counters[i].name);
}

#define SINCE(name, wanted) CHECK(since(name) == (number)(wanted), "%s: %llu", name, since(name))

static void start(void)
{
    int index, count, provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < COUNTERS; i++) {
        OK(MPI_T_pvar_get_index(counters[i].name, counters[i].class, &index));
        OK(MPI_T_pvar_handle_alloc(session, index, NULL, &counters[i].handle, &count));
    }
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
}

/* K messages of so many bytes from rank 0 to rank 1, each answered by an empty one. */
static void pingpong(char *data, int bytes)
{
    for (int i = 0; i < K; i++) {
        if (rank == 0) {
            OK(MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
            OK(MPI_Recv(NULL, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Send(NULL, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD));
        }
    }
}

static void short_and_eager(char *data)
{
    mark();
    pingpong(data, 8);
    SINCE("sent_short", K);
    SINCE("sent_short_bytes", rank == 0 ? 8 * K : 0);
    SINCE("received", K);
    SINCE("received_bytes", rank == 1 ? 8 * K : 0);
    mark();
    pingpong(data, 5000);
    SINCE("sent_eager", rank == 0 ? K : 0);
    SINCE("sent_eager_bytes", rank == 0 ? 5000 * K : 0);
    SINCE("sent_short", rank == 1 ? K : 0);
    SINCE("received_bytes", rank == 1 ? 5000 * K : 0);
    SINCE("sent_direct", 0);
    SINCE("sent_rendezvous", 0);
    SINCE("published", 0);
}

/* Rank 1 publishes before rank 0 may send. */
static void published(char *data)
{
    mark();
    for (int i = 0; i < K; i++) {
        MPI_Request request;
        if (rank == 0) {
            OK(MPI_Recv(NULL, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Send(data, LONG, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
        } else {
            OK(MPI_Irecv(data, LONG, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request));
            CHECK(now("published_queue") == 1);
            OK(MPI_Send(NULL, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(now("published_queue") == 0);
        }
    }
    if (rank == 0) {
        number direct = since("sent_direct"), packets = since("sent_packets"), asked = since("sent_rendezvous");
        CHECK(direct + packets + asked == K, "%llu %llu %llu", direct, packets, asked);
        SINCE("sent_direct_bytes", direct * LONG);
        SINCE("sent_packets_bytes", packets * LONG);
        SINCE("sent_rendezvous_bytes", asked * LONG);
        SINCE("sent_eager", 0);
        CHECK(since("mapped") + since("shared") + since("kernel") == direct);
        CHECK(since("mapped_bytes") + since("shared_bytes") + since("kernel_bytes") == direct * LONG);
        if (asked == 0) {
            SINCE("streamed", packets);
            SINCE("streamed_bytes", packets * LONG);
        }
        SINCE("received", K);
        SINCE("received_bytes", 0);
    } else {
        SINCE("published", K);
        number filled = since("published_filled"), packets = since("published_packets");
        CHECK(filled + packets + since("published_withdrawn") == K, "%llu %llu", filled, packets);
        SINCE("received", K);
        SINCE("received_bytes", (number)K * LONG);
        SINCE("sent_short", K);
    }
}

/* Rank 1 receives late: what comes is kept, or waits at its sender. */
static void unexpected(char *data)
{
    mark();
    if (rank == 0) {
        MPI_Request request;
        OK(MPI_Recv(NULL, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 1; i <= 5; i++)
            OK(MPI_Send(data, 100, MPI_CHAR, 1, i, MPI_COMM_WORLD));
        OK(MPI_Isend(data, LONG, MPI_CHAR, 1, 6, MPI_COMM_WORLD, &request));
        OK(MPI_Send(data, 0, MPI_CHAR, 1, 7, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        SINCE("sent_rendezvous", 1);
        SINCE("sent_rendezvous_bytes", LONG);
        SINCE("sent_eager", 5);
        SINCE("sent_short", 1);
    } else {
        number before = now("unexpected_queue"), memory = now("unexpected_memory");
        CHECK(before == 0 && memory == 0, "%llu %llu", before, memory);
        OK(MPI_Send(NULL, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD));
        OK(MPI_Recv(data, 0, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(now("unexpected_queue") == 6, "%llu", now("unexpected_queue"));
        CHECK(now("unexpected_memory") == 500, "%llu", now("unexpected_memory"));
        for (int i = 1; i <= 6; i++)
            OK(MPI_Recv(data, i == 6 ? LONG : 100, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(now("unexpected_queue") == 0 && now("unexpected_memory") == 0);
        SINCE("unexpected", 6);
        CHECK(now("unexpected_queue_peak") >= 6 && now("unexpected_memory_peak") >= 500);
        SINCE("received", 7);
        SINCE("received_bytes", 500 + LONG);
    }
}

static void self(char *data)
{
    mark();
    MPI_Request request;
    for (int i = 0; i < K; i++) {
        OK(MPI_Irecv(data, 300, MPI_CHAR, rank, 3, MPI_COMM_WORLD, &request));
        OK(MPI_Send(data + 300, 300, MPI_CHAR, rank, 3, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    SINCE("sent_self", K);
    SINCE("sent_self_bytes", 300 * K);
    SINCE("received", K);
    SINCE("received_bytes", 300 * K);
    SINCE("sent_short", 0);
    SINCE("unexpected", 0);
}

/* Rank 1 takes nothing while rank 0 sends more than a ring has room for. */
static void full(void)
{
    enum { MANY = 300 };
    MPI_Request requests[MANY];
    int pid = getpid(), which;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    mark();
    if (rank == 0) {
        OK(MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < MANY; i++)
            OK(MPI_Isend(&which, 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
        CHECK(since("ring_full") > 0);
        kill(pid, SIGUSR1);
        OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        CHECK(since("sent_short") + since("sent_eager") == MANY);
        CHECK(since("sent_short_bytes") + since("sent_eager_bytes") == MANY * sizeof(int));
        CHECK(since("ring_full") < MANY, "%llu", since("ring_full"));
    } else {
        OK(MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
        sigwait(&signals, &which);
        for (int i = 0; i < MANY; i++)
            OK(MPI_Recv(&which, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        SINCE("received", MANY);
    }
}

static void collectives(void)
{
    int one = 1, two[2] = {1, 1}, out[2], ones[2] = {1, 1}, places[2] = {0, 1};
    MPI_Request request;
    mark();
    for (int i = 0; i < 3; i++)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 4; i++)
        OK(MPI_Allreduce(&one, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Gather(&one, 1, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Gatherv(&one, 1, MPI_INT, out, ones, places, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Scatter(two, 1, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Allgather(&one, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Alltoall(two, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Reduce(&one, out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    OK(MPI_Reduce_scatter_block(two, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Scan(&one, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Exscan(&one, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(since("collective_lines") + since("collective_messages") == 17);
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(since("collective_lines") + since("collective_messages") == 17);
    SINCE("barrier", 4);
    SINCE("allreduce", 4);
    SINCE("bcast", 1);
    SINCE("gather", 2);
    SINCE("scatter", 1);
    SINCE("allgather", 1);
    SINCE("alltoall", 1);
    SINCE("reduce", 1);
    SINCE("reduce_scatter", 1);
    SINCE("scan", 2);
}

static void onesided(void)
{
    double *base, data[100] = {0}, before;
    MPI_Win window;
    OK(MPI_Win_allocate(sizeof data, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
    memset(base, 0, sizeof data);
    OK(MPI_Win_fence(0, window));
    mark();
    for (int i = 0; i < K; i++) {
        OK(MPI_Put(data, 100, MPI_DOUBLE, 1 - rank, 0, 100, MPI_DOUBLE, window));
        OK(MPI_Win_fence(0, window));
        OK(MPI_Get(data, 10, MPI_DOUBLE, 1 - rank, 5, 10, MPI_DOUBLE, window));
        OK(MPI_Win_fence(0, window));
        OK(MPI_Accumulate(data, 3, MPI_DOUBLE, 1 - rank, 0, 3, MPI_DOUBLE, MPI_SUM, window));
        OK(MPI_Fetch_and_op(data, &before, MPI_DOUBLE, 1 - rank, 0, MPI_SUM, window));
        OK(MPI_Win_fence(0, window));
    }
    SINCE("put", K);
    SINCE("put_bytes", 800 * K);
    SINCE("get", K);
    SINCE("get_bytes", 80 * K);
    SINCE("accumulate", 2 * K);
    SINCE("accumulate_bytes", 32 * K);
    OK(MPI_Win_free(&window));
}

static void files(char *data)
{
    char name[64];
    MPI_File file;
    MPI_Status status;
    snprintf(name, sizeof name, "/tmp/tern-tool-counters-%d-%d", (int)getpid(), rank);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    mark();
    for (int i = 0; i < 5; i++)
        OK(MPI_File_write_at(file, i * 1000, data, 1000, MPI_CHAR, &status));
    OK(MPI_File_read_at(file, 2000, data, 3000, MPI_CHAR, &status));
    SINCE("file_write_bytes", 5000);
    SINCE("file_read_bytes", 3000);
    OK(MPI_File_close(&file));
}

/* What a handle counts is its own affair: started, stopped, written, in sessions of their own. */
static void handles(void)
{
    MPI_T_pvar_session other;
    MPI_T_pvar_handle a, b;
    int index, count;
    number value = 100;
    OK(MPI_T_pvar_session_create(&other));
    OK(MPI_T_pvar_get_index("barrier", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(other, index, NULL, &a, &count));
    OK(MPI_T_pvar_handle_alloc(other, index, NULL, &b, &count));
    mark();
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_start(other, a));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_start(other, MPI_T_PVAR_ALL_HANDLES));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_stop(other, a));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_read(other, a, &value));
    CHECK(value == 2, "%llu", value);
    OK(MPI_T_pvar_read(other, b, &value));
    CHECK(value == 2, "%llu", value);
    value = 100;
    OK(MPI_T_pvar_write(other, b, &value));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_readreset(other, b, &value));
    CHECK(value == 101, "%llu", value);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_read(other, b, &value));
    CHECK(value == 1, "%llu", value);
    OK(MPI_T_pvar_reset(other, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_stop(other, MPI_T_PVAR_ALL_HANDLES));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_read(other, a, &value));
    CHECK(value == 0, "%llu", value);
    OK(MPI_T_pvar_read(other, b, &value));
    CHECK(value == 0, "%llu", value);
    OK(MPI_T_pvar_start(other, a));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_read(other, a, &value));
    CHECK(value == 1, "%llu", value);
    SINCE("barrier", 8);
    OK(MPI_T_pvar_session_free(&other));
}

int main(int argc, char **argv)
{
    char *data = calloc(1, LONG), *shared;
    start();
    begin(&argc, &argv);
    MPI_Alloc_mem(LONG, MPI_INFO_NULL, &shared);
    short_and_eager(data);
    published(data);
    published(shared);
    unexpected(data);
    self(data);
    full();
    collectives();
    onesided();
    files(data);
    handles();
    number messages = now("received");
    MPI_Free_mem(shared);
    MPI_Finalize();
    CHECK(now("received") >= messages);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return failures != 0;
}
