// ranks: 2
// mpiexec: -x TERN_FREQUENT_SHARE=0
// Buffers that are used often leave from where they lie, whoever sends them: MPI_Send, MPI_Isend, persistent requests,
// collectives. The data is right when the buffer is changed, given back, or forked as soon as MPI says that it is
// free. Every second message is answered, so that no credit is missing.
#include "counter.h"
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 3000, TIMES = 100 };
static MPI_T_pvar_handle handle;

static number lent(void)
{
    return counted(handle);
}

/* True when messages between the two ranks go through a network card. */
static int apart;
static int exact = 1;

/* Of `times` messages that this rank has sent since the counter was `before`, enough have left from their buffer. */
static void count(const char *what, number before, int times)
{
    number now = lent();
    int enough = apart ? now - before >= (number)(times - times / 10) : now == before;
    CHECK(enough || !exact, "%s: %llu of %d", what, now - before, times);
}

static void answer(int to)
{
    if (rank == to)
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1 - to, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else
        OK(MPI_Send(NULL, 0, MPI_BYTE, to, 9, MPI_COMM_WORLD));
}

static void is(const char *what, const char *in, int value)
{
    int wrong = 0;
    for (int i = 0; i < LENGTH; i++) wrong += in[i] != (char)value;
    CHECK(wrong == 0, "%s: %d bytes of message %d", what, wrong, value);
}

/* Sends by `way`; the receiver looks at what comes. */
static void point_to_point(const char *what, void (*way)(char *, int))
{
    char *out = malloc(LENGTH), *in = malloc(LENGTH);
    number before = lent();
    for (int i = 0; i < TIMES; i++) {
        if (rank == 0) {
            memset(out, i, LENGTH);
            way(out, i);
            memset(out, 99, LENGTH);
        } else {
            OK(MPI_Recv(in, LENGTH, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            is(what, in, i);
        }
        if (i % 2) answer(0);
    }
    if (rank == 0) count(what, before, TIMES);
    free(out), free(in);
}

static void blocking(char *out, int i)
{
    (void)i;
    OK(MPI_Send(out, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
}

static void nonblocking(char *out, int i)
{
    MPI_Request request;
    (void)i;
    OK(MPI_Isend(out, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void persistent(char *out, int i)
{
    static MPI_Request request = MPI_REQUEST_NULL;
    if (i == 0) OK(MPI_Send_init(out, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (i == TIMES - 1) OK(MPI_Request_free(&request));
}

/* The memory of a message is given back, and used for other things. */
static void given_back(char *out, int i)
{
    char *once = malloc(LENGTH);
    (void)i;
    memcpy(once, out, LENGTH);
    OK(MPI_Send(once, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    memset(once, 77, LENGTH);
    free(once);
}

/* A child that writes to everything, while the message is under way. */
static void forked(char *out, int i)
{
    MPI_Request request;
    OK(MPI_Isend(out, LENGTH, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
    if (i % 20 == 0) {
        int status = 1;
        pid_t child = fork();
        if (child == 0) {
            memset(out, 98, LENGTH);
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void collectives(void)
{
    char *data = malloc(LENGTH), *all = malloc(2 * LENGTH);
    number before = lent();
    for (int i = 0; i < TIMES; i++) {
        memset(data, rank == 0 ? i : 99, LENGTH);
        OK(MPI_Bcast(data, LENGTH, MPI_BYTE, 0, MPI_COMM_WORLD));
        is("broadcast", data, i);
        if (i % 2) answer(0);
    }
    if (rank == 0) count("broadcast", before, TIMES);
    before = lent();
    for (int i = 0; i < TIMES; i++) {
        memset(all, i, 2 * LENGTH);
        OK(MPI_Scatter(all, LENGTH, MPI_BYTE, data, LENGTH, MPI_BYTE, 0, MPI_COMM_WORLD));
        memset(all, 99, 2 * LENGTH);
        is("scatter", data, i);
        if (i % 2) answer(0);
    }
    if (rank == 0) count("scatter", before, TIMES);
    free(data), free(all);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    handle = counter("sent_frequent");
    MPI_Comm node;
    int here;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &here));
    OK(MPI_Comm_free(&node));
    apart = here == 1;
    /* Where these are set, fewer may leave so. */
    const char *others[] = {"TERN_FREQUENT", "TERN_FAULTS", "TERN_EAGER_LIMIT", "TERN_PACKET", "TERN_CREDITS"};
    for (int i = 0; i < 5; i++) exact &= getenv(others[i]) == NULL;
    point_to_point("MPI_Send", blocking);
    point_to_point("MPI_Isend", nonblocking);
    point_to_point("MPI_Start", persistent);
    point_to_point("given back", given_back);
    collectives();

    char *out = malloc(LENGTH), *in = malloc(LENGTH);
    for (int i = 0; i < TIMES; i++) {
        if (rank == 0) {
            memset(out, i, LENGTH);
            forked(out, i);
            memset(out, 99, LENGTH);
        } else {
            OK(MPI_Recv(in, LENGTH, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            is("forked", in, i);
        }
    }
    free(out), free(in);
    end_counting();
    return finish();
}
