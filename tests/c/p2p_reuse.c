// ranks: 2 4
// timeout: 120
// Neighbours exchange messages through the same buffers again and again, of every size at which the
// way of the bytes may change, from every kind of memory, dense and strided, the receive posted
// before or after the message is sent. Contents change each time and every byte is looked at, so
// that a copy that comes from or goes to an old page is found.
#include "check.h"
#include <stdint.h>

enum { MOST = 1 << 20, STRIDE = 3, TURNS = 12 };

static unsigned char in_data[MOST], out_data[MOST];

static unsigned char value(int from, int turn, int kind, int at)
{
    uint32_t x = (uint32_t)at * 2654435761u + (uint32_t)(from * 131 + turn * 31 + kind) * 40503u;
    return (unsigned char)(x >> 24);
}

static void write_all(unsigned char *to, int count, int step, int turn, int kind)
{
    for (int i = 0; i < count; i++)
        to[(size_t)i * step] = value(rank, turn, kind, i);
}

static void look(const unsigned char *at, int count, int step, int peer, int turn, int kind)
{
    int wrong = 0, first = -1;
    for (int i = 0; i < count; i++)
        if (at[(size_t)i * step] != value(peer, turn, kind, i) && wrong++ == 0)
            first = i;
    CHECK(wrong == 0, "%d bytes of kind %d, turn %d: %d wrong, the first is %d", count, kind, turn, wrong,
          first);
}

/* One exchange. An early receive is known to be there before the message is sent. */
static void exchange(unsigned char *out, unsigned char *in, int count, int step, int turn, int kind)
{
    int peer = rank ^ 1, early = turn % 2 == 0;
    MPI_Datatype type;
    OK(MPI_Type_vector(count, 1, step, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    MPI_Request requests[2];
    write_all(out, count, step, turn, kind);
    for (int i = 0; i < count; i++)
        in[(size_t)i * step] = 0xee;
    if (early) {
        OK(MPI_Irecv(in, 1, type, peer, kind, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Isend(out, 1, type, peer, kind, MPI_COMM_WORLD, &requests[1]));
    } else {
        OK(MPI_Isend(out, 1, type, peer, kind, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Irecv(in, 1, type, peer, kind, MPI_COMM_WORLD, &requests[0]));
    }
    MPI_Status statuses[2];
    OK(MPI_Waitall(2, requests, statuses));
    int bytes = -1;
    MPI_Get_count(&statuses[0], MPI_BYTE, &bytes);
    CHECK(bytes == count, "%d bytes came of %d", bytes, count);
    look(in, count, step, peer, turn, kind);
    /* The sender's bytes are its own again, and unharmed. */
    look(out, count, step, rank, turn, kind);
    OK(MPI_Type_free(&type));
}

static void all_sizes(unsigned char *out, unsigned char *in, int most, int kind)
{
    static const int sizes[] = {1,    80,   81,    1000,  1024,  4095,   4096,   8192,   16385,
                                32768, 65536, 65537, 131072, 262143, 524288, 1048576};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && sizes[s] <= most; s++)
        for (int turn = 0; turn < TURNS; turn++)
            exchange(out, in, sizes[s], 1, turn, kind);
    for (int count = 100; count * STRIDE <= most; count *= 19)
        for (int turn = 0; turn < TURNS; turn++)
            exchange(out, in, count, STRIDE, turn, kind);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int kind = 0;
    unsigned char on_stack[2][1 << 16];
    all_sizes(on_stack[0], on_stack[1], 1 << 16, kind++);
    all_sizes(out_data, in_data, MOST, kind++);

    /* The heap, at an odd address, used, given back and taken again. */
    for (int again = 0; again < 3; again++) {
        unsigned char *out = malloc(MOST + 64), *in = malloc(MOST + 64);
        all_sizes(out + 3, in + 5, MOST, kind++);
        /* Grows, perhaps elsewhere, and what stood in it stays. */
        write_all(out, MOST, 1, again, kind);
        out = realloc(out, 3 * MOST);
        look(out, MOST, 1, rank, again, kind);
        free(out);
        free(in);
        unsigned char *fresh = calloc(MOST, 1);
        int dirty = 0;
        for (int i = 0; i < MOST; i++)
            dirty += fresh[i] != 0;
        CHECK(dirty == 0, "calloc gave %d bytes that are not zero", dirty);
        free(fresh);
    }

    /* One kind of memory at one side, another at the other. */
    unsigned char *mine, *theirs;
    OK(MPI_Alloc_mem(MOST, MPI_INFO_NULL, &mine));
    OK(MPI_Alloc_mem(MOST, MPI_INFO_NULL, &theirs));
    all_sizes(mine, theirs, MOST, kind++);
    all_sizes(rank % 2 ? mine : out_data, rank % 2 ? in_data : theirs, MOST, kind++);
    OK(MPI_Free_mem(mine));
    OK(MPI_Free_mem(theirs));
    return finish();
}
