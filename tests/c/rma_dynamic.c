// ranks: 1 2 3
// Windows to which memory is attached later: several pieces, of several sorts, in turns.
#include "rma.h"

static char global[5000];

static MPI_Aint address_of(const void *memory)
{
    MPI_Aint address;
    MPI_Get_address(memory, &address);
    return address;
}

/* Puts into a piece of the next rank and gets it back, then looks whether it came. */
static void use(MPI_Win win, char *piece, int length, int salt)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Aint mine = address_of(piece), theirs;
    MPI_Sendrecv(&mine, 1, MPI_AINT, last, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char *memory = malloc(length), *back = malloc(length);
    memset(memory, salt + rank, length);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    OK(MPI_Put(memory, length, MPI_CHAR, next, theirs, length, MPI_CHAR, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Get(back, length, MPI_CHAR, next, theirs, length, MPI_CHAR, win));
    OK(MPI_Win_unlock(next, win));
    CHECK(!memcmp(memory, back, length));
    MPI_Barrier(MPI_COMM_WORLD);
    see(win);
    for (int i = 0; i < length; i++)
        CHECK(piece[i] == (char)(salt + last), "byte %d", i);
    free(memory);
    free(back);
    MPI_Barrier(MPI_COMM_WORLD);
}

enum { PIECE = 4096, LONGS = PIECE / sizeof(long) };

/* An access may reach over several pieces that are attached side by side, and a datatype into pieces that lie apart. */
static void several_pieces(MPI_Win win, long *memory)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    /* Three side by side, one a page further on. */
    const int starts[] = {0, LONGS, 2 * LONGS, 4 * LONGS};
    for (int i = 0; i < 4; i++)
        OK(MPI_Win_attach(win, memory + starts[i], PIECE));
    MPI_Aint mine = address_of(memory), theirs;
    MPI_Sendrecv(&mine, 1, MPI_AINT, last, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Datatype apart;
    int lengths[] = {LONGS, 10}, places[] = {LONGS + 7, 4 * LONGS + 3};
    OK(MPI_Type_indexed(2, lengths, places, MPI_LONG, &apart));
    OK(MPI_Type_commit(&apart));
    long all[3 * LONGS], back[3 * LONGS];
    for (int i = 0; i < 3 * LONGS; i++)
        all[i] = 1000 * rank + i;

    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    OK(MPI_Put(all, 3 * LONGS, MPI_LONG, next, theirs, 3 * LONGS, MPI_LONG, win));
    OK(MPI_Win_flush(next, win));
    memset(back, 0, sizeof back);
    OK(MPI_Get(back, 2 * LONGS, MPI_LONG, next, theirs + 8 * 5, 2 * LONGS, MPI_LONG, win));
    /* A few bytes on both sides of an edge. */
    OK(MPI_Get(back + 2 * LONGS, 2, MPI_LONG, next, theirs + PIECE - 8, 2, MPI_LONG, win));
    OK(MPI_Win_flush(next, win));
    CHECK(!memcmp(back, all + 5, 2 * PIECE));
    CHECK(back[2 * LONGS] == all[LONGS - 1] && back[2 * LONGS + 1] == all[LONGS]);
    OK(MPI_Put(all, LONGS + 10, MPI_LONG, next, theirs, 1, apart, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Get(back, LONGS + 10, MPI_LONG, next, theirs, 1, apart, win));
    OK(MPI_Win_unlock(next, win));
    CHECK(!memcmp(back, all, PIECE + 80));
    MPI_Barrier(MPI_COMM_WORLD);

    /* Sums of all, of which others go to single elements at the same time. */
    see(win);
    memset(memory, 0, 3 * PIECE);
    MPI_Barrier(MPI_COMM_WORLD);
    see(win);
    MPI_Bcast(&mine, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    long one = 1, ones[100];
    for (int i = 0; i < 100; i++)
        ones[i] = 1;
    /* Between nodes each element is a request to the card: more than it has room for, of which nobody waits for one. */
    int rounds = on_one_node(MPI_COMM_WORLD) ? 300 : 60;
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < rounds; round++) {
        OK(MPI_Accumulate(ones, 100, MPI_LONG, 0, mine + PIECE - 400, 100, MPI_LONG, MPI_SUM, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, mine + PIECE - 8, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Fetch_and_op(&one, back, MPI_LONG, 0, mine + PIECE, MPI_SUM, win));
    }
    OK(MPI_Win_flush(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, back, 100, MPI_LONG, 0, mine + PIECE - 400, 100, MPI_LONG, MPI_NO_OP, win));
    OK(MPI_Win_unlock_all(win));
    for (int i = 0; i < 100; i++)
        CHECK(back[i] == rounds * size * (i == 49 || i == 50 ? 2 : 1), "element %d: %ld", i, back[i]);
    if (strict()) {
        /* A hole between two pieces is not attached. */
        OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(all, 2 * LONGS, MPI_LONG, next, theirs + 2 * PIECE, 2 * LONGS, MPI_LONG, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(all, LONGS + 10, MPI_LONG, next, theirs + PIECE, 1, apart, win));
        OK(MPI_Win_unlock(next, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Type_free(&apart));
    for (int i = 0; i < 4; i++)
        OK(MPI_Win_detach(win, memory + starts[i]));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Win win;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    char local[300], *heap = malloc(100000), *shared;
    OK(MPI_Alloc_mem(70000, MPI_INFO_NULL, &shared));
    OK(MPI_Win_attach(win, global, sizeof global));
    OK(MPI_Win_attach(win, local, sizeof local));
    OK(MPI_Win_attach(win, heap, 100000));
    OK(MPI_Win_attach(win, shared, 70000));
    use(win, global, sizeof global, 1);
    use(win, local, sizeof local, 2);
    use(win, heap, 100000, 3);
    use(win, heap + 17, 1000, 4);
    use(win, shared, 70000, 5);
    /* Detached, attached again elsewhere, many times. */
    OK(MPI_Win_detach(win, heap));
    for (int i = 0; i < 50; i++) {
        char *piece = heap + 1000 * i;
        OK(MPI_Win_attach(win, piece, 500));
        use(win, piece, 500, i);
        OK(MPI_Win_detach(win, piece));
    }
    /* Nothing may be attached, too. */
    OK(MPI_Win_attach(win, heap, 0));
    OK(MPI_Win_detach(win, heap));
    /* Many at once. */
    for (int i = 0; i < 40; i++)
        OK(MPI_Win_attach(win, heap + 2000 * i, 1500));
    use(win, heap, 1500, 6);
    use(win, heap + 2000 * 39, 1500, 7);
    for (int i = 39; i >= 0; i--)
        OK(MPI_Win_detach(win, heap + 2000 * i));
    several_pieces(win, (long *)heap);
    OK(MPI_Win_detach(win, shared));
    several_pieces(win, (long *)shared);
    OK(MPI_Win_attach(win, shared, 70000));
    for (int i = 0; i < 40; i++)
        OK(MPI_Win_attach(win, heap + 2000 * i, 1500));
    if (strict()) {
        FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, heap + 1));
        /* What is not attached is out of range; what is near it stays. */
        MPI_Aint mine = address_of(heap + 1600);
        int number = -1;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&number, 1, MPI_INT, rank, mine, 1, MPI_INT, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Get(&number, 1, MPI_INT, rank, address_of(heap) + 1498, 1, MPI_INT, win));
        OK(MPI_Get(&number, 1, MPI_INT, rank, address_of(heap) + 1496, 1, MPI_INT, win));
        OK(MPI_Win_unlock(rank, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 39; i >= 0; i--)
        OK(MPI_Win_detach(win, heap + 2000 * i));
    OK(MPI_Win_detach(win, local));
    OK(MPI_Win_detach(win, global));
    OK(MPI_Win_detach(win, shared));
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(shared));
    free(heap);
    return finish();
}
