// ranks: 2
// timeout: 60
// Long messages whose receivers come late, while their senders wait: both sides copy. Of several lengths, shorter and
// longer than the receive, in columns too, the buffers used again at once; messages of both ways at a time. In memory
// of MPI and in private memory, and received early as well.
#include "check.h"

enum { MOST = 3 << 20 };
static unsigned char *out, *in;

static unsigned char mark(int round, int at) { return (unsigned char)(round * 37 + at * 7 + at / 4096); }

static void late(void)
{
    volatile unsigned work = 0;
    while (work < 20000) work++;
}

/* A message of `sent` bytes for a receive of `room`, that is posted late, or early where rounds are odd. */
static void one_way(int round, int sent, int room)
{
    if (rank == 0) {
        if (round % 2) late();
        for (int i = 0; i < sent; i++) out[i] = mark(round, i);
        OK(MPI_Send(out, sent, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        return;
    }
    memset(in, 0xee, MOST);
    if (round % 2 == 0) late();
    MPI_Status status;
    int count, error, length = sent < room ? sent : room, wrong = 0;
    error = MPI_Recv(in, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
    CHECK(error == (sent > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "error %d", error);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(sent > room || count == sent, "%d bytes, not %d", count, sent);
    for (int i = 0; i < length; i++) wrong += in[i] != mark(round, i);
    for (int i = length; i < MOST; i++) wrong += in[i] != 0xee;
    CHECK(wrong == 0, "%d bytes of round %d, %d into %d", wrong, round, sent, room);
}

/* Every other block of 512 bytes, sent and received so. */
static void columns(int round)
{
    enum { BLOCKS = 2000, BLOCK = 512 };
    MPI_Datatype column;
    OK(MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_BYTE, &column));
    OK(MPI_Type_commit(&column));
    if (rank == 0) {
        for (int i = 0; i < 2 * BLOCKS * BLOCK; i++) out[i] = mark(round, i);
        OK(MPI_Send(out, 1, column, 1, 1, MPI_COMM_WORLD));
    } else {
        int wrong = 0;
        memset(in, 0xee, MOST);
        late();
        OK(MPI_Recv(in, 1, column, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 2 * BLOCKS * BLOCK; i++) wrong += in[i] != (i / BLOCK % 2 ? 0xee : mark(round, i));
        CHECK(wrong == 0, "%d bytes of round %d in columns", wrong, round);
    }
    OK(MPI_Type_free(&column));
}

/* Both have sent before either receives. */
static void both_ways(int round)
{
    enum { LENGTH = 500000, MESSAGES = 3 };
    MPI_Request requests[MESSAGES];
    int wrong = 0;
    for (int i = 0; i < MESSAGES * LENGTH; i++) out[i] = mark(round, i);
    for (int i = 0; i < MESSAGES; i++)
        OK(MPI_Isend(out + i * LENGTH, LENGTH, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = MESSAGES - 1; i >= 0; i--)
        OK(MPI_Recv(in + i * LENGTH, LENGTH, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MESSAGES * LENGTH; i++) wrong += in[i] != mark(round, i);
    CHECK(wrong == 0, "%d bytes of round %d, both ways", wrong, round);
}

static void all(void)
{
    const int lengths[] = {1, 16384, 16385, 40000, 65536, 100001, 300001, 1 << 20, MOST};
    for (int round = 0; round < 9 * 4; round++) one_way(round, lengths[round % 9], MOST);
    one_way(50, MOST, 100000);
    one_way(51, MOST, 1000000);
    one_way(52, 100000, 100001);
    for (int round = 60; round < 66; round++) columns(round);
    for (int round = 70; round < 76; round++) both_ways(round);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    out = malloc(MOST);
    in = malloc(MOST);
    all();
    free(out);
    free(in);
    OK(MPI_Alloc_mem(MOST, MPI_INFO_NULL, &out));
    OK(MPI_Alloc_mem(MOST, MPI_INFO_NULL, &in));
    all();
    OK(MPI_Free_mem(in));
    OK(MPI_Free_mem(out));
    return finish();
}
