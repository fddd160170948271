// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=always -x TERN_WATCH=off -x TERN_COSTS=default
// timeout: 120
// Messages from memory that was shared in place, of which the sender tells where it was before it has asked whether it still is
// there. Between them the memory is freed, and allocated again at the same address: what has been told is wrong then, and the
// message arrives all the same. By calls that wait, by nonblocking ones and by persistent requests.
#include "counter.h"
#include "mapping.h"

#include <malloc.h>

enum { CHUNK = 1 << 20, MESSAGES = 12, ROUNDS = 300, ENOUGH = 10, OTHERS = 30 };

static const int lengths[] = {65536, 32768, 60001, 16384};

/* Of both ranks. */
static number read_both(MPI_T_pvar_handle handle)
{
    number value = counted(handle), sum;
    OK(MPI_Allreduce(&value, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    return sum;
}

static unsigned char byte(int round, int message, int at)
{
    return (unsigned char)(round * 53 + message * 17 + at + at / 251);
}

enum { WAITING, NONBLOCKING, PERSISTENT, KINDS };

static MPI_Request requests[2]; /* to send and to receive, of a round with persistent ones */

static void send(int kind, const unsigned char *out, int length, int tag)
{
    MPI_Request request;
    switch (kind) {
    case WAITING:
        OK(MPI_Send(out, length, MPI_BYTE, !rank, tag, MPI_COMM_WORLD));
        break;
    case NONBLOCKING:
        OK(MPI_Isend(out, length, MPI_BYTE, !rank, tag, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    default:
        OK(MPI_Start(&requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
}

static void receive(int kind, unsigned char *in, int length, int tag)
{
    MPI_Request request;
    switch (kind) {
    case WAITING:
        OK(MPI_Recv(in, length, MPI_BYTE, !rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case NONBLOCKING:
        OK(MPI_Irecv(in, length, MPI_BYTE, !rank, tag, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    default:
        OK(MPI_Start(&requests[1]));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
}

/* One way and back, so that either rank waits for the other. */
static void play(int kind, unsigned char *out, unsigned char *in, int round, int length)
{
    if (kind == PERSISTENT) {
        OK(MPI_Send_init(out, length, MPI_BYTE, !rank, MESSAGES, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Recv_init(in, length, MPI_BYTE, !rank, MESSAGES, MPI_COMM_WORLD, &requests[1]));
    }
    for (int message = 0; message < MESSAGES; message++) {
        for (int i = 0; i < length; i++)
            out[i] = byte(round, 2 * message + rank, i);
        memset(in, 0, (size_t)length);
        if (rank == 0)
            send(kind, out, length, message);
        receive(kind, in, length, message);
        if (rank == 1)
            send(kind, out, length, message);
        int wrong = 0;
        for (int i = 0; i < length; i++)
            wrong += in[i] != byte(round, 2 * message + !rank, i);
        CHECK(wrong == 0);
    }
    for (int i = 0; kind == PERSISTENT && i < 2; i++)
        OK(MPI_Request_free(&requests[i]));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    /* Chunks have mappings of their own, which go when they are freed. (By itself the C library would take them from the heap after
       the first was freed, of whose end it keeps a part: there the first bytes of a chunk stay where they are.) */
    mallopt(M_MMAP_THRESHOLD, CHUNK / 2);
    int shared = 0;
    MPI_T_pvar_handle speculative = counter("speculative"), misplaced = counter("misplaced");
    number wrong = 0;
    int round = 0;
    for (int kind = WAITING; kind < KINDS; kind++) {
        int end = round + (kind == WAITING ? ROUNDS : OTHERS);
        for (; round < end && (kind != WAITING || wrong < ENOUGH); round++) {
            unsigned char *out = malloc(CHUNK), *in = malloc(CHUNK);
            /* The buffers change places now and then, so that what is received into lies where something was sent from. Between,
               rounds are of one length: an address is speculative for bytes that all lay in what was shared. */
            play(kind, round % 5 ? out : in, round % 5 ? in : out, round, lengths[round / 5 % 4]);
            shared |= is_shared(out + 4096);
            wrong = read_both(misplaced);
            /* No call from here to the next send: a call that waits notices what has been freed. */
            free(in);
            free(out);
        }
    }
    number told = read_both(speculative);
#ifdef TOLD
    /* Whether addresses are speculative depends on what the kernel allows. */
    if (told == 0)
        CHECK(wrong == 0);
    else
#endif
    if (told == 0)
        printf("skipped: no message was sent from a speculative address (memory shared in place: %d)\n", shared);
    else
        CHECK(wrong > 0);
    end_counting();
    return finish();
}
