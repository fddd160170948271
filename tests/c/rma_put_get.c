// ranks: 1 2 3 5
// Put and get in every kind of window under every synchronisation, short and long, in both forms.
#include "rma.h"

static const int lengths[] = {0, 1, 4, 8, 60, 1000, 4096, 70000, 1 << 20};
enum { LENGTHS = sizeof lengths / sizeof *lengths, ROOM = 1 << 20 };

static char byte_of(int from, int at, int salt)
{
    return (char)(from * 31 + at * 7 + salt * 13 + 1);
}

static void fill(char *memory, int length, int from, int salt)
{
    for (int i = 0; i < length; i++)
        memory[i] = byte_of(from, i, salt);
}

static int differs(const char *memory, int length, int from, int salt)
{
    for (int i = 0; i < length; i++)
        if (memory[i] != byte_of(from, i, salt))
            return i + 1;
    return 0;
}

/* Everybody puts to the next rank and then gets from the rank before. */
static void round_of(struct window *w, int way, int length, int large, char *memory)
{
    int next = (w->rank + 1) % w->size, last = (w->rank + w->size - 1) % w->size;
    fill(memory, length, w->rank, length);
    memset(w->base, 0, length + 1 < w->bytes ? length + 1 : w->bytes);
    open_epoch(w, way, next, last);
    if (large)
        OK(MPI_Put_c(memory, length, MPI_CHAR, next, place(w, next, 0), length, MPI_CHAR, w->win));
    else
        OK(MPI_Put(memory, length, MPI_CHAR, next, place(w, next, 0), length, MPI_CHAR, w->win));
    close_epoch(w, way, next);
    int wrong = differs(w->base, length, last, length);
    CHECK(!wrong, "%s, %s, put of %d: byte %d", kind_names[w->kind], way_names[way], length, wrong - 1);
    CHECK(length == w->bytes || w->base[length] == 0);

    memset(memory, 0, length);
    open_epoch(w, way, last, next);
    if (large)
        OK(MPI_Get_c(memory, length, MPI_CHAR, last, place(w, last, 0), length, MPI_CHAR, w->win));
    else
        OK(MPI_Get(memory, length, MPI_CHAR, last, place(w, last, 0), length, MPI_CHAR, w->win));
    close_epoch(w, way, last);
    int second = (w->rank + 2 * w->size - 2) % w->size;
    wrong = differs(memory, length, second, length);
    CHECK(!wrong, "%s, %s, get of %d: byte %d", kind_names[w->kind], way_names[way], length, wrong - 1);
}

/* Many accesses of one epoch to all ranks, of every length and to odd places. */
static void many(struct window *w)
{
    enum { EACH = 40, SLOT = 777 };
    char *memory = malloc(w->size * EACH * SLOT);
    for (int target = 0; target < w->size; target++)
        for (int i = 0; i < EACH; i++)
            fill(memory + (target * EACH + i) * SLOT, SLOT, w->rank, i);
    OK(MPI_Win_fence(0, w->win));
    for (int i = 0; i < EACH; i++)
        for (int target = 0; target < w->size; target++) {
            MPI_Aint to = (w->rank * EACH + i) * SLOT;
            int length = i * SLOT / EACH + 1;
            OK(MPI_Put(memory + (target * EACH + i) * SLOT, length, MPI_BYTE, target, place(w, target, to), length,
                       MPI_BYTE, w->win));
        }
    OK(MPI_Win_fence(0, w->win));
    for (int from = 0; from < w->size; from++)
        for (int i = 0; i < EACH; i++) {
            int wrong = differs(w->base + (from * EACH + i) * SLOT, i * SLOT / EACH + 1, from, i);
            CHECK(!wrong, "%s: put %d of %d, byte %d", kind_names[w->kind], i, from, wrong - 1);
        }
    memset(memory, 0, w->size * EACH * SLOT);
    for (int from = 0; from < w->size; from++)
        for (int i = 0; i < EACH; i++) {
            MPI_Aint at = (w->rank * EACH + i) * SLOT;
            int length = i * SLOT / EACH + 1;
            OK(MPI_Get(memory + (from * EACH + i) * SLOT, length, MPI_BYTE, from, place(w, from, at), length, MPI_BYTE,
                       w->win));
        }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    for (int from = 0; from < w->size; from++)
        for (int i = 0; i < EACH; i++)
            CHECK(!differs(memory + (from * EACH + i) * SLOT, i * SLOT / EACH + 1, w->rank, i));
    free(memory);
}

/* Loads and stores of the target's own, and accesses between two flushes, in turns. */
static void ping_pong(struct window *w)
{
    if (w->size < 2)
        return;
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock_all(0, w->win));
    volatile int *own = (volatile int *)w->base;
    own[0] = 0;
    OK(MPI_Win_sync(w->win));
    MPI_Barrier(w->comm);
    for (int turn = 1; turn <= 50 && w->rank < 2; turn++) {
        int other = 1 - w->rank;
        if (turn % 2 == w->rank) {
            OK(MPI_Put(&turn, 1, MPI_INT, other, place(w, other, 0), 1, MPI_INT, w->win));
            OK(MPI_Win_flush(other, w->win));
        } else {
            int seen = 0;
            while (seen != turn) {
                OK(MPI_Get(&seen, 1, MPI_INT, w->rank, place(w, w->rank, 0), 1, MPI_INT, w->win));
                OK(MPI_Win_flush(w->rank, w->win));
            }
        }
    }
    OK(MPI_Win_unlock_all(w->win));
    MPI_Barrier(w->comm);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char *memory = malloc(ROOM);
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window(kind, ROOM, MPI_COMM_WORLD);
        for (int way = 0; way < WAYS; way++)
            for (int i = 0; i < LENGTHS; i++)
                round_of(&w, way, lengths[i], i % 2, memory);
        many(&w);
        ping_pong(&w);
        close_window(&w);
    }
    free(memory);
    return finish();
}
