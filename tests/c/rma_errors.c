// ranks: 1 2 3
// Wrong arguments and calls out of turn: the error class of the standard, and the window goes on.
#include "rma.h"

static MPI_Datatype uncommitted, mixed;
static MPI_Op user_op;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void making(void)
{
    MPI_Win win = MPI_WIN_NULL;
    char memory[8];
    void *base;
    FAILS(MPI_ERR_SIZE, MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_DISP, MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_DISP, MPI_Win_create(memory, 8, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_BASE, MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_COMM, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
    FAILS(MPI_ERR_INFO, MPI_Win_create(memory, 8, 1, (MPI_Info)MPI_COMM_WORLD, MPI_COMM_WORLD, &win));
    FAILS(MPI_ERR_ARG, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_SIZE, MPI_Win_allocate(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    FAILS(MPI_ERR_DISP, MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    FAILS(MPI_ERR_SIZE, MPI_Win_allocate_shared(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    FAILS(MPI_ERR_DISP, MPI_Win_allocate_shared(8, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    FAILS(MPI_ERR_ARG, MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, NULL, &win));
    if (size > 1) {
        /* One is wrong: nobody gets a window. */
        int code = MPI_Win_create(memory, rank ? 8 : -8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), class;
        MPI_Error_class(code, &class);
        CHECK(rank ? code != MPI_SUCCESS : class == MPI_ERR_SIZE);
        MPI_Comm half, inter;
        MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 5, &inter);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        FAILS(MPI_ERR_COMM, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, inter, &win));
        FAILS(MPI_ERR_COMM, MPI_Win_allocate(8, 1, MPI_INFO_NULL, inter, &base, &win));
        FAILS(MPI_ERR_COMM, MPI_Win_create_dynamic(MPI_INFO_NULL, inter, &win));
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    CHECK(win == MPI_WIN_NULL);
}

/* A window that is none: MPI_COMM_SELF's handler takes the error. */
static void no_window(MPI_Win win)
{
    int number = 0, flag, unit;
    MPI_Aint bytes;
    MPI_Group group;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Request request;
    void *base;
    FAILS(MPI_ERR_WIN, MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_WIN, MPI_Get(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_WIN, MPI_Rput(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
    FAILS(MPI_ERR_WIN, MPI_Accumulate(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPI_ERR_WIN, MPI_Fetch_and_op(&number, &number, MPI_INT, 0, 0, MPI_SUM, win));
    FAILS(MPI_ERR_WIN, MPI_Compare_and_swap(&number, &number, &number, MPI_INT, 0, 0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_complete(win));
    FAILS(MPI_ERR_WIN, MPI_Win_wait(win));
    FAILS(MPI_ERR_WIN, MPI_Win_test(win, &flag));
    FAILS(MPI_ERR_WIN, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_unlock(0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_unlock_all(win));
    FAILS(MPI_ERR_WIN, MPI_Win_flush(0, win));
    FAILS(MPI_ERR_WIN, MPI_Win_flush_local_all(win));
    FAILS(MPI_ERR_WIN, MPI_Win_sync(win));
    FAILS(MPI_ERR_WIN, MPI_Win_attach(win, &number, 4));
    FAILS(MPI_ERR_WIN, MPI_Win_detach(win, &number));
    FAILS(MPI_ERR_WIN, MPI_Win_get_group(win, &group));
    FAILS(MPI_ERR_WIN, MPI_Win_get_info(win, &info));
    FAILS(MPI_ERR_WIN, MPI_Win_set_info(win, MPI_INFO_NULL));
    FAILS(MPI_ERR_WIN, MPI_Win_set_name(win, "none"));
    FAILS(MPI_ERR_WIN, MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    FAILS(MPI_ERR_WIN, MPI_Win_get_errhandler(win, &handler));
    FAILS(MPI_ERR_WIN, MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_WIN, MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
    FAILS(MPI_ERR_WIN, MPI_Win_shared_query(win, 0, &bytes, &unit, &base));
    FAILS(MPI_ERR_WIN, MPI_Win_free(&win));
}

/* Wrong arguments of communication while an epoch is open. */
static void arguments(struct window *w)
{
    MPI_Win win = w->win;
    int a = 1, b = 2, c = 3;
    double d = 0;
    MPI_Request request;
    MPI_Aint at = place(w, 0, 0);
    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RANK, MPI_Put(&a, 1, MPI_INT, size, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_RANK, MPI_Get(&a, 1, MPI_INT, -9, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(&a, -1, MPI_INT, 0, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(&a, 1, MPI_INT, 0, at, -1, MPI_INT, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(&a, 1, MPI_DATATYPE_NULL, 0, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_TYPE, MPI_Get(&a, 1, MPI_INT, 0, at, 1, uncommitted, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(&a, 1, MPI_INT, 0, at, 2, MPI_INT, win));
    FAILS(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_INT, 0, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_BUFFER, MPI_Get(NULL, 1, MPI_INT, 0, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_ARG, MPI_Rget(&a, 1, MPI_INT, 0, at, 1, MPI_INT, win, NULL));
    if (!is_dynamic(w->kind)) {
        FAILS(MPI_ERR_DISP, MPI_Put(&a, 1, MPI_INT, 0, -1, 1, MPI_INT, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&a, 1, MPI_INT, 0, w->bytes, 1, MPI_INT, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Get(&a, 1, MPI_INT, 0, w->bytes - 3, 1, MPI_INT, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(&a, &b, MPI_INT, 0, w->bytes, MPI_SUM, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Accumulate(&a, 1, MPI_INT, 0, w->bytes, 1, MPI_INT, MPI_SUM, win));
        FAILS(MPI_ERR_RMA_RANGE, MPI_Compare_and_swap(&a, &b, &c, MPI_INT, 0, INT64_MAX, win));
    }
    FAILS(MPI_ERR_OP, MPI_Accumulate(&a, 1, MPI_INT, 0, at, 1, MPI_INT, user_op, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&a, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_NO_OP, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&a, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_OP_NULL, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, at, 1, MPI_DOUBLE, MPI_BOR, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&a, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_MINLOC, win));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(&d, 2, MPI_FLOAT, 0, at, 2, MPI_INT, MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Accumulate(&d, 1, mixed, 0, at, 1, mixed, MPI_SUM, win));
    FAILS(MPI_ERR_OP, MPI_Fetch_and_op(&a, &b, MPI_INT, 0, at, user_op, win));
    FAILS(MPI_ERR_TYPE, MPI_Fetch_and_op(&d, &d, mixed, 0, at, MPI_REPLACE, win));
    FAILS(MPI_ERR_BUFFER, MPI_Fetch_and_op(NULL, &b, MPI_INT, 0, at, MPI_SUM, win));
    FAILS(MPI_ERR_BUFFER, MPI_Fetch_and_op(&a, NULL, MPI_INT, 0, at, MPI_NO_OP, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&d, &d, &d, MPI_DOUBLE, 0, at, win));
    FAILS(MPI_ERR_BUFFER, MPI_Compare_and_swap(&a, NULL, &c, MPI_INT, 0, at, win));
    FAILS(MPI_ERR_TYPE,
          MPI_Get_accumulate(&a, 1, MPI_DATATYPE_NULL, &b, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPI_ERR_TYPE, MPI_Get_accumulate(&a, 1, MPI_INT, &d, 2, MPI_INT, 0, at, 1, MPI_INT, MPI_SUM, win));
    /* Its origin means nothing with MPI_NO_OP. */
    OK(MPI_Get_accumulate(NULL, -5, MPI_DATATYPE_NULL, &b, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_NO_OP, win));
    OK(MPI_Fetch_and_op(NULL, &b, MPI_INT, 0, at, MPI_NO_OP, win));
    /* Nothing happens with MPI_PROC_NULL. */
    b = 5;
    OK(MPI_Put(&a, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, win));
    OK(MPI_Get(&b, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, win));
    OK(MPI_Accumulate(&a, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Get_accumulate(&a, 1, MPI_INT, &b, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Fetch_and_op(&a, &b, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win));
    OK(MPI_Compare_and_swap(&a, &b, &c, MPI_INT, MPI_PROC_NULL, 0, win));
    OK(MPI_Rget(&b, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Raccumulate(&a, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(a == 1 && b == 5 && c == 3);
    /* Nor with nothing to move, at the very end of the window. */
    OK(MPI_Put(NULL, 0, MPI_INT, 0, place(w, 0, w->bytes), 0, MPI_INT, win));
    OK(MPI_Get(NULL, 0, MPI_INT, 0, place(w, 0, w->bytes), 0, MPI_INT, win));
    OK(MPI_Accumulate(NULL, 0, MPI_INT, 0, place(w, 0, w->bytes), 0, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
}

static void synchronisation(struct window *w)
{
    MPI_Win win = w->win;
    MPI_Group self, all, none = MPI_GROUP_NULL;
    MPI_Request request;
    int a = 0, flag, last = size - 1;
    MPI_Aint at = place(w, rank, 0);
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Comm_group(MPI_COMM_WORLD, &all);

    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(1 << 30, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_start(self, MPI_MODE_NOPUT, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_post(self, MPI_MODE_NOSUCCEED, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOSTORE, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_lock_all(MPI_MODE_NOPRECEDE, win));
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(0, 0, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_unlock(-5, win));
    FAILS(MPI_ERR_RANK, MPI_Win_flush(size, win));
    FAILS(MPI_ERR_GROUP, MPI_Win_start(none, 0, win));
    FAILS(MPI_ERR_GROUP, MPI_Win_post(none, 0, win));

    /* Without an epoch. */
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Get(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Accumulate(&a, 1, MPI_INT, rank, at, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Rput(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(rank, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(rank, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_sync(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));

    /* In an epoch of MPI_Win_lock. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    MPI_Win copy = win;
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&copy));
    CHECK(copy == win);
    if (rank != last)
        FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&a, 1, MPI_INT, last, place(w, last, 0), 1, MPI_INT, win));
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win));
    OK(MPI_Win_unlock(MPI_PROC_NULL, win));

    /* In one of MPI_Win_lock_all. */
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(rank, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    OK(MPI_Win_unlock_all(win));

    /* In epochs of MPI_Win_post and MPI_Win_start. */
    OK(MPI_Win_post(self, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&copy));
    OK(MPI_Win_start(self, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Rget(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(rank, win));
    if (rank != last)
        FAILS(MPI_ERR_RMA_SYNC, MPI_Get(&a, 1, MPI_INT, last, place(w, last, 0), 1, MPI_INT, win));
    OK(MPI_Put(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, MPI_MODE_NOCHECK, win));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));

    /* Between fences. */
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
    OK(MPI_Get(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&copy));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)); /* the fence has begun nothing */
    OK(MPI_Win_unlock(rank, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&a, 1, MPI_INT, rank, at, 1, MPI_INT, win));
    MPI_Group_free(&self);
    MPI_Group_free(&all);
}

static void memory(struct window *w)
{
    int number, unit;
    MPI_Aint bytes;
    void *base;
    if (!is_dynamic(w->kind)) {
        FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(w->win, &number, 4));
        FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(w->win, &number));
        FAILS(MPI_ERR_RANK, MPI_Win_shared_query(w->win, size, &bytes, &unit, &base));
    } else {
        FAILS(MPI_ERR_SIZE, MPI_Win_attach(w->win, &number, -4));
        FAILS(MPI_ERR_BASE, MPI_Win_attach(w->win, NULL, 4));
        FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(w->win, &number));
        FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(w->win, 0, &bytes, &unit, &base));
    }
}

/* A group that is not of the window: a window over a part of the processes. */
static void foreign_group(void)
{
    MPI_Win win;
    MPI_Group all;
    void *base;
    OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (size > 1) {
        FAILS(MPI_ERR_GROUP, MPI_Win_start(all, 0, win));
        FAILS(MPI_ERR_GROUP, MPI_Win_post(all, 0, win));
    }
    MPI_Group_free(&all);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (!strict())
        return finish();
    MPI_Datatype parts[2] = {MPI_INT, MPI_FLOAT};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 4};
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    MPI_Type_create_struct(2, lengths, places, parts, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Op_create(add, 1, &user_op);
    making();
    no_window(MPI_WIN_NULL);
    no_window((MPI_Win)MPI_COMM_WORLD);
    foreign_group();
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window(kind, 64, MPI_COMM_WORLD);
        arguments(&w);
        synchronisation(&w);
        memory(&w);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win stale = w.win;
        close_window(&w);
        no_window(stale);
    }
    MPI_Type_free(&uncommitted);
    MPI_Type_free(&mixed);
    MPI_Op_free(&user_op);
    return finish();
}
