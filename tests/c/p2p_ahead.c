// ranks: 2
// timeout: 240
// A million short messages ahead of the one that is awaited, at the cap that the library sets itself; each of them takes
// little memory. Then tens of thousands of messages or receives of a tag each, which meet in the other order.
#include "check.h"
#include <unistd.h>

enum { AHEAD = 1000000, TAGS = 60000, LAST = TAGS };
/* Bytes that one of them takes, and those that memory is measured by. */
enum { COST = 160, STEP = 8 << 20 };

static long resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &size, &pages) != 2) pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void ahead(void)
{
    if (rank == 0) {
        for (int i = 0; i < AHEAD; i++) OK(MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        OK(MPI_Send(NULL, 0, MPI_INT, 1, LAST, MPI_COMM_WORLD));
        return;
    }
    long before = resident();
    OK(MPI_Recv(NULL, 0, MPI_INT, 0, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    long taken = resident() - before;
    if (strict()) CHECK(taken < (long)AHEAD * COST + STEP, "%ld bytes for each message", taken / AHEAD);
    int wrong = 0;
    for (int i = 0, value; i < AHEAD; i++) {
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        wrong += value != i;
    }
    CHECK(wrong == 0, "%d", wrong);
}

static void send_tags(int step)
{
    for (int i = 0; i < TAGS; i++) {
        int tag = step > 0 ? i : TAGS - 1 - i;
        OK(MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD));
    }
}

/* All messages wait, and are received by what `source` and `any` say: the youngest first where that can be told. */
static void unexpected(int source, int any)
{
    if (rank == 0) {
        send_tags(1);
        OK(MPI_Send(NULL, 0, MPI_INT, 1, LAST, MPI_COMM_WORLD));
        return;
    }
    int wrong = 0;
    OK(MPI_Recv(NULL, 0, MPI_INT, 0, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < TAGS; i++) {
        MPI_Status status;
        int value = -1, wanted = any ? i : TAGS - 1 - i;
        OK(MPI_Recv(&value, 1, MPI_INT, source, any ? MPI_ANY_TAG : wanted, MPI_COMM_WORLD, &status));
        wrong += value != wanted || status.MPI_TAG != wanted || status.MPI_SOURCE != 0;
    }
    CHECK(wrong == 0, "source %d, any tag %d: %d", source, any, wrong);
}

/* All receives wait, and what is for the youngest comes first. */
static void posted(int source)
{
    static MPI_Request requests[TAGS];
    static int in[TAGS];
    int wrong = 0;
    if (rank == 0) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        return send_tags(-1);
    }
    for (int i = 0; i < TAGS; i++) OK(MPI_Irecv(&in[i], 1, MPI_INT, source, i, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < TAGS; i++) wrong += in[i] != i;
    CHECK(wrong == 0, "source %d: %d", source, wrong);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    ahead();
    for (int any = 0; any < 2; any++) {
        unexpected(0, any);
        unexpected(MPI_ANY_SOURCE, any);
    }
    posted(0);
    posted(MPI_ANY_SOURCE);
    return finish();
}
