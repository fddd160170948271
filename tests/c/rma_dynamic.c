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
