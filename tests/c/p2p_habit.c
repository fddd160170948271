// ranks: 2 3
// timeout: 60
// Windows of receives that are waited for at once, so that Tern comes to leave them unpublished, and in between windows during
// which the receiver computes, looks, waits for one message first or for one after the other; with lengths around the limits.
#include "check.h"
#include "compute.h"

enum { WINDOW = 40, LONGEST = 300000, ROUNDS = 60 };

static const int lengths[] = {100, 8192, 16384, 40000, 65536, 65537, 131072, LONGEST};

enum { AT_ONCE, COMPUTES, LOOKS, ONE_FIRST, BLOCKS, KINDS };

/* Of message `k` of a round: in two rounds of three all messages are as long. */
static int length_of(int round, int k)
{
    int kinds = (int)(sizeof lengths / sizeof lengths[0]);
    return lengths[(round / 5 + (round % 3 ? 0 : k)) % kinds];
}

static unsigned char expected(int round, int k, int at)
{
    return (unsigned char)(round * 31 + k * 7 + at / 64);
}

static void wait_for(int kind, MPI_Request *requests)
{
    int flag = 0;
    switch (kind) {
    case COMPUTES:
        compute(200);
        break;
    case LOOKS:
        while (!flag)
            MPI_Testall(WINDOW, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case ONE_FIRST:
        MPI_Wait(&requests[WINDOW / 2], MPI_STATUS_IGNORE);
        compute(100);
        break;
    case BLOCKS:
        for (int k = WINDOW - 1; k >= 0; k--)
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        break;
    default:
        break;
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned char *buffer = malloc((size_t)WINDOW * LONGEST);
    MPI_Request requests[WINDOW];
    for (int round = 0; round < ROUNDS; round++) {
        /* Several rounds at once, then one of another kind. */
        int kind = round % 7 < 5 ? AT_ONCE : 1 + round / 7 % (KINDS - 1);
        int receives = (rank + round) % 2, other = receives ? (rank + size - 1) % size : (rank + 1) % size;
        if (size % 2 && (receives ? rank == 0 : rank == size - 1))
            continue;
        for (int k = 0; k < WINDOW; k++) {
            int length = length_of(round, k);
            unsigned char *at = buffer + (size_t)k * LONGEST;
            if (receives) {
                MPI_Irecv(at, length, MPI_BYTE, k % 11 == 10 ? MPI_ANY_SOURCE : other, round, MPI_COMM_WORLD, &requests[k]);
            } else {
                for (int i = 0; i < length; i++)
                    at[i] = expected(round, k, i);
                MPI_Isend(at, length, MPI_BYTE, other, round, MPI_COMM_WORLD, &requests[k]);
            }
        }
        wait_for(receives ? kind : AT_ONCE, requests);
        for (int k = 0; k < WINDOW && receives; k++) {
            int length = length_of(round, k);
            const unsigned char *at = buffer + (size_t)k * LONGEST;
            int wrong = 0;
            for (int i = 0; i < length; i++)
                wrong += at[i] != expected(round, k, i);
            CHECK(wrong == 0, "%d of %d bytes in message %d of round %d", wrong, length, k, round);
        }
    }
    free(buffer);
    return finish();
}
