// ranks: 2
// Target types that are one run of bytes away from their own address, above it or below: over the edges of a created window whose
// whole pages are made shared in place, at the beginning and at the end of these pages, wherever in a page the window begins.
#include "rma.h"

enum { BYTES = 200000, LEN = 6000, BEFORE = 8192, FIRST = 300, STARTS = 20 };

static char from[LEN], into[LEN];

/* How a run of `len` bytes is described that begins `at` bytes from the type's address; the count that belongs to it. */
static MPI_Datatype described(int how, int len, MPI_Aint at, int *count)
{
    MPI_Datatype type, part;
    *count = 1;
    switch (how) {
    case 0:
        OK(MPI_Type_create_hindexed(1, (int[]){len}, (MPI_Aint[]){at}, MPI_BYTE, &type));
        break;
    case 1:
        OK(MPI_Type_create_struct(1, (int[]){len / 4}, (MPI_Aint[]){at}, (MPI_Datatype[]){MPI_INT}, &type));
        break;
    case 2: /* several elements that join each other */
        OK(MPI_Type_create_hindexed(1, (int[]){len / 10}, (MPI_Aint[]){at}, MPI_BYTE, &part));
        OK(MPI_Type_create_resized(part, at, len / 10, &type));
        OK(MPI_Type_free(&part));
        *count = 10;
        break;
    default: /* bounds that lie apart from the data */
        OK(MPI_Type_create_hindexed(1, (int[]){len}, (MPI_Aint[]){at}, MPI_BYTE, &part));
        OK(MPI_Type_create_resized(part, at - 40, len + 100, &type));
        OK(MPI_Type_free(&part));
    }
    OK(MPI_Type_commit(&type));
    return type;
}

/* Puts and gets the bytes from `first` on of the window, of which the whole content is known. */
static void move(MPI_Win win, char *own, int how, MPI_Aint at, MPI_Aint first)
{
    int count;
    const int peer = 1 - rank;
    MPI_Datatype type = described(how, LEN, at, &count);
    memset(own, 0, BYTES);
    for (int i = 0; i < LEN; i++)
        from[i] = (char)(i % 101 + 1 + rank);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(from, LEN, MPI_BYTE, peer, first - at, count, type, win));
    OK(MPI_Win_fence(0, win));
    MPI_Aint wrong = -1;
    for (MPI_Aint i = 0; i < BYTES && wrong < 0; i++)
        if (own[i] != (i >= first && i < first + LEN ? (char)((i - first) % 101 + 1 + peer) : 0))
            wrong = i;
    CHECK(wrong < 0, "put, form %d, %ld from its address: byte %ld is %d", how, (long)at, (long)wrong, own[wrong]);
    memset(own, 77, BYTES);
    for (int i = 0; i < LEN; i++)
        own[first + i] = (char)(i % 97 + 1);
    memset(into, 0, LEN);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(into, LEN, MPI_BYTE, peer, first - at, count, type, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < LEN; i++)
        if (into[i] != (char)(i % 97 + 1)) {
            CHECK(0, "get, form %d, %ld from its address: byte %d is %d", how, (long)at, i, into[i]);
            break;
        }
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int start = 0; start < STARTS; start++) {
        MPI_Win win;
        char *memory = malloc(BYTES + BEFORE), *own = memory + start * 408 % 4096;
        OK(MPI_Win_create(own, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        for (int how = 0; how < 4; how++) {
            move(win, own, how, FIRST, FIRST);
            move(win, own, how, FIRST, BYTES - LEN);
            /* A displacement inside the window, and data that begins before it. */
            move(win, own, how, -2000, 100);
        }
        OK(MPI_Win_free(&win));
        free(memory);
    }
    return finish();
}
