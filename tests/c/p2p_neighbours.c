// ranks: 2 3 4
// timeout: 60
// Exchanges with both neighbours by nonblocking calls, as solvers make them, often enough that Tern comes to take them for that; and
// rounds that compute, look, send by calls that wait, receive only or send nothing back, with memory that is freed and allocated
// again meanwhile.
#include "check.h"
#include "compute.h"

enum { SIDES = 2, PARTS = 2, REQUESTS = SIDES * PARTS, LONGEST = 200000, ROUNDS = 400 };

static const int lengths[] = {100, 8192, 16384, 32768, 65536, 65537, LONGEST};

enum { AT_ONCE, COMPUTES_AFTER_POSTING, COMPUTES_AFTER_SENDING, LOOKS, WAITS_FOR_SENDS, BY_SEND, SHORT, KINDS };

static unsigned char expected(int round, int from, int k, int at)
{
    return (unsigned char)(round * 31 + from * 13 + k * 7 + at / 64);
}

/* All receives, all sends, one wait, with whatever else the kind of this round has in between. */
static void exchange(int kind, int round, int length, unsigned char *in, unsigned char *out)
{
    MPI_Request requests[2 * REQUESTS];
    int neighbour[SIDES] = {(rank + size - 1) % size, (rank + 1) % size}, flag = 0;
    int room = kind == SHORT ? LONGEST : length;
    for (int k = 0; k < REQUESTS; k++)
        MPI_Irecv(in + (size_t)k * LONGEST, room, MPI_BYTE, neighbour[k % SIDES], round * 10 + k, MPI_COMM_WORLD,
                  &requests[k]);
    if (kind == COMPUTES_AFTER_POSTING)
        compute(50);
    for (int k = 0; k < REQUESTS; k++) {
        /* What comes from the left neighbour was sent to the right, and the other way round. */
        int to = neighbour[1 - k % SIDES];
        unsigned char *at = out + (size_t)k * LONGEST;
        if (kind == BY_SEND && (rank + k) % 2) {
            requests[REQUESTS + k] = MPI_REQUEST_NULL;
            MPI_Send(at, length, MPI_BYTE, to, round * 10 + k, MPI_COMM_WORLD);
        } else
            MPI_Isend(at, length, MPI_BYTE, to, round * 10 + k, MPI_COMM_WORLD, &requests[REQUESTS + k]);
    }
    if (kind == COMPUTES_AFTER_SENDING)
        compute(50);
    while (kind == LOOKS && !flag)
        MPI_Testall(2 * REQUESTS, requests, &flag, MPI_STATUSES_IGNORE);
    if (kind == WAITS_FOR_SENDS)
        MPI_Waitall(REQUESTS, requests + REQUESTS, MPI_STATUSES_IGNORE);
    MPI_Waitall(2 * REQUESTS, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned char *in = NULL, *out = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        /* Many rounds at once, or that compute, then one of another kind; not all ranks of the same kind. */
        int usual = round / 25 % 2 ? COMPUTES_AFTER_SENDING : AT_ONCE;
        int kind = round % 11 < 9 ? usual : (round / 11 + round % 2 * rank) % KINDS;
        int length = lengths[round / 50 % (int)(sizeof lengths / sizeof lengths[0])];
        if (round % 40 == 0) {
            free(in);
            free(out);
            in = malloc((size_t)REQUESTS * LONGEST);
            out = malloc((size_t)REQUESTS * LONGEST);
        }
        for (int k = 0; k < REQUESTS; k++)
            for (int i = 0; i < length; i++)
                out[(size_t)k * LONGEST + (size_t)i] = expected(round, rank, k, i);
        exchange(kind, round, length, in, out);
        for (int k = 0; k < REQUESTS; k++) {
            int from = k % SIDES ? (rank + 1) % size : (rank + size - 1) % size, wrong = 0;
            for (int i = 0; i < length; i++)
                wrong += in[(size_t)k * LONGEST + (size_t)i] != expected(round, from, k, i);
            CHECK(wrong == 0, "%d of %d bytes in message %d of round %d, kind %d", wrong, length, k, round, kind);
        }
    }
    free(in);
    free(out);
    return finish();
}
