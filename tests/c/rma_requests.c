// ranks: 1 2 4
// The request forms: they end by every way to wait, and mean completion at the origin.
#include "rma.h"

enum { MANY = 30, LENGTH = 3000 };

static void numbers(struct window *w, int large)
{
    int next = (w->rank + 1) % w->size, last = (w->rank + w->size - 1) % w->size;
    int *memory = malloc(MANY * LENGTH * sizeof(int)), *back = malloc(MANY * LENGTH * sizeof(int));
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY], status;
    MPI_Barrier(w->comm);
    memset(w->base, 0, w->bytes);
    see(w->win);
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock_all(0, w->win));
    for (int i = 0; i < MANY; i++) {
        int length = i % 3 ? 1 + i : LENGTH;
        for (int j = 0; j < length; j++)
            memory[i * LENGTH + j] = 100000 * w->rank + i * LENGTH + j;
        MPI_Aint at = place(w, next, i * LENGTH * sizeof(int));
        if (large)
            OK(MPI_Rput_c(memory + i * LENGTH, length, MPI_INT, next, at, length, MPI_INT, w->win, &requests[i]));
        else
            OK(MPI_Rput(memory + i * LENGTH, length, MPI_INT, next, at, length, MPI_INT, w->win, &requests[i]));
    }
    OK(MPI_Waitall(MANY, requests, statuses));
    for (int i = 0; i < MANY; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
    /* The origin's memory may be used again; the target has it after a flush. */
    memset(memory, -1, MANY * LENGTH * sizeof(int));
    OK(MPI_Win_flush(next, w->win));
    MPI_Barrier(w->comm);
    for (int i = 0; i < MANY; i++) {
        int length = i % 3 ? 1 + i : LENGTH;
        MPI_Aint at = place(w, w->rank, i * LENGTH * sizeof(int));
        if (large)
            OK(MPI_Rget_c(back + i * LENGTH, length, MPI_INT, w->rank, at, length, MPI_INT, w->win, &requests[i]));
        else
            OK(MPI_Rget(back + i * LENGTH, length, MPI_INT, w->rank, at, length, MPI_INT, w->win, &requests[i]));
    }
    /* One by one, in every way. */
    for (int i = 0; i < MANY; i++) {
        int flag = 0, index;
        if (i % 4 == 0) {
            OK(MPI_Wait(&requests[i], &status));
        } else if (i % 4 == 1) {
            while (!flag)
                OK(MPI_Test(&requests[i], &flag, &status));
        } else if (i % 4 == 2) {
            OK(MPI_Waitany(1, &requests[i], &index, MPI_STATUS_IGNORE));
            CHECK(index == 0);
        } else {
            while (!flag)
                OK(MPI_Request_get_status(requests[i], &flag, &status));
            OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        }
        CHECK(requests[i] == MPI_REQUEST_NULL);
        int length = i % 3 ? 1 + i : LENGTH;
        for (int j = 0; j < length; j++)
            if (back[i * LENGTH + j] != 100000 * last + i * LENGTH + j) {
                CHECK(0, "%s: get %d, element %d is %d", kind_names[w->kind], i, j, back[i * LENGTH + j]);
                break;
            }
    }
    OK(MPI_Win_unlock_all(w->win));
    MPI_Barrier(w->comm);
    free(memory);
    free(back);
}

static void sums(struct window *w, int large)
{
    long mine[50], before[50], *own = (long *)w->base;
    MPI_Request requests[2];
    MPI_Barrier(w->comm);
    memset(w->base, 0, w->bytes);
    see(w->win);
    MPI_Barrier(w->comm);
    for (int i = 0; i < 50; i++)
        mine[i] = i, before[i] = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    MPI_Aint at = place(w, 0, 0), behind = place(w, 0, 50 * sizeof(long));
    if (large) {
        OK(MPI_Raccumulate_c(mine, 50, MPI_LONG, 0, at, 50, MPI_LONG, MPI_SUM, w->win, &requests[0]));
        OK(MPI_Rget_accumulate_c(mine, 50, MPI_LONG, before, 50, MPI_LONG, 0, behind, 50, MPI_LONG, MPI_SUM, w->win,
                                 &requests[1]));
    } else {
        OK(MPI_Raccumulate(mine, 50, MPI_LONG, 0, at, 50, MPI_LONG, MPI_SUM, w->win, &requests[0]));
        OK(MPI_Rget_accumulate(mine, 50, MPI_LONG, before, 50, MPI_LONG, 0, behind, 50, MPI_LONG, MPI_SUM, w->win,
                               &requests[1]));
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 50; i++)
        CHECK(before[i] % (i ? i : 1) == 0 && before[i] >= 0 && before[i] <= (long)i * (w->size - 1));
    OK(MPI_Win_unlock(0, w->win));
    MPI_Barrier(w->comm);
    see(w->win);
    if (w->rank == 0)
        for (int i = 0; i < 50; i++)
            CHECK(own[i] == (long)i * w->size && own[50 + i] == (long)i * w->size);
    MPI_Barrier(w->comm);
}

/* A request that is freed: the access is complete by the end of the epoch. */
static void freed(struct window *w)
{
    int next = (w->rank + 1) % w->size, last = (w->rank + w->size - 1) % w->size;
    int *memory = malloc(LENGTH * sizeof(int));
    MPI_Request request;
    for (int i = 0; i < LENGTH; i++)
        memory[i] = w->rank - i;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win));
    OK(MPI_Rput(memory, LENGTH, MPI_INT, next, place(w, next, 0), LENGTH, MPI_INT, w->win, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Win_unlock(next, w->win));
    MPI_Barrier(w->comm);
    see(w->win);
    for (int i = 0; i < LENGTH; i++)
        CHECK(((int *)w->base)[i] == last - i);
    free(memory);
    MPI_Barrier(w->comm);
}

/* Among requests of other kinds. */
static void mixed(struct window *w)
{
    int next = (w->rank + 1) % w->size, last = (w->rank + w->size - 1) % w->size;
    int sent = w->rank, received = -1, fetched = -1;
    MPI_Request requests[4];
    *(int *)w->base = 500 + w->rank;
    see(w->win);
    MPI_Barrier(w->comm);
    OK(MPI_Win_lock_all(0, w->win));
    OK(MPI_Irecv(&received, 1, MPI_INT, last, 0, w->comm, &requests[0]));
    OK(MPI_Rget(&fetched, 1, MPI_INT, next, place(w, next, 0), 1, MPI_INT, w->win, &requests[1]));
    OK(MPI_Isend(&sent, 1, MPI_INT, next, 0, w->comm, &requests[2]));
    OK(MPI_Ibarrier(w->comm, &requests[3]));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK(received == last && fetched == 500 + next);
    OK(MPI_Win_unlock_all(w->win));
    MPI_Barrier(w->comm);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window(kind, MANY * LENGTH * sizeof(int), MPI_COMM_WORLD);
        for (int large = 0; large < 2; large++) {
            numbers(&w, large);
            sums(&w, large);
        }
        freed(&w);
        mixed(&w);
        close_window(&w);
    }
    return finish();
}
