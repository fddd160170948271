/* Windows of every kind, and every way to synchronise, for programs that go through all of them. */
#ifndef RMA_H
#define RMA_H

#include "check.h"

enum { ALLOCATED, SHARED, CREATED, CREATED_SHARED, DYNAMIC, PIECES, KINDS };
static const char *const kind_names[KINDS] = {
    "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create", "MPI_Win_create on MPI_Alloc_mem",
    "MPI_Win_create_dynamic", "MPI_Win_create_dynamic, attached in pieces"};

struct window {
    MPI_Win win;
    MPI_Comm comm;
    int kind, rank, size;
    char *base;
    MPI_Aint bytes;
    MPI_Aint *addresses; /* of the memory of each rank */
};

/* True when all processes of `comm` are on one node, which MPI_Win_allocate_shared asks for. */
static inline int on_one_node(MPI_Comm comm)
{
    MPI_Comm node;
    int all, here;
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_size(comm, &all);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    return here == all;
}

static inline int is_dynamic(int kind)
{
    return kind == DYNAMIC || kind == PIECES;
}

/* Where the memory of a window begins that is attached as a whole or in pieces, whose edges may be in elements. */
static inline int pieces(int kind, MPI_Aint bytes, MPI_Aint starts[4])
{
    const MPI_Aint edges[] = {0, bytes / 3 + 1, bytes / 3 + 2, bytes};
    if (kind == DYNAMIC || bytes < 6) {
        starts[0] = 0;
        starts[1] = bytes;
        return 1;
    }
    memcpy(starts, edges, sizeof edges);
    return 3;
}

/* False for kinds whose memory is reached as that of another one is: between nodes all of it by the network card, but that
 * what is attached has to be looked up. */
static inline int kind_differs(int kind, MPI_Comm comm)
{
    return kind == ALLOCATED || is_dynamic(kind) || on_one_node(comm);
}

/* For each kind that differs from the others. */
static inline void each_kind(void (*with)(int kind))
{
    for (int kind = 0; kind < KINDS; kind++)
        if (kind_differs(kind, MPI_COMM_WORLD))
            with(kind);
}

/* A window with `bytes` zeros at each rank and 1 as the displacement unit; errors are returned. */
static inline struct window open_window(int kind, MPI_Aint bytes, MPI_Comm comm)
{
    /* What cannot be shared is allocated. */
    if (kind == SHARED && !on_one_node(comm))
        kind = ALLOCATED;
    struct window w = {.kind = kind, .comm = comm, .bytes = bytes};
    MPI_Comm_rank(comm, &w.rank);
    MPI_Comm_size(comm, &w.size);
    if (kind == ALLOCATED) {
        OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &w.base, &w.win));
    } else if (kind == SHARED) {
        OK(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, comm, &w.base, &w.win));
    } else {
        if (kind == CREATED_SHARED)
            OK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &w.base));
        else
            w.base = malloc(bytes);
        if (is_dynamic(kind)) {
            MPI_Aint starts[4];
            OK(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w.win));
            for (int i = pieces(kind, bytes, starts); i-- > 0;)
                OK(MPI_Win_attach(w.win, w.base + starts[i], starts[i + 1] - starts[i]));
        } else {
            OK(MPI_Win_create(w.base, bytes, 1, MPI_INFO_NULL, comm, &w.win));
        }
    }
    OK(MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN));
    memset(w.base, 0, bytes);
    MPI_Aint own;
    MPI_Get_address(w.base, &own);
    w.addresses = malloc(w.size * sizeof *w.addresses);
    MPI_Allgather(&own, 1, MPI_AINT, w.addresses, 1, MPI_AINT, comm);
    return w;
}

static inline void close_window(struct window *w)
{
    MPI_Aint starts[4];
    for (int i = is_dynamic(w->kind) ? pieces(w->kind, w->bytes, starts) : 0; i-- > 0;)
        OK(MPI_Win_detach(w->win, w->base + starts[i]));
    OK(MPI_Win_free(&w->win));
    CHECK(w->win == MPI_WIN_NULL);
    if (w->kind == CREATED_SHARED)
        OK(MPI_Free_mem(w->base));
    else if (w->kind == CREATED || is_dynamic(w->kind))
        free(w->base);
    free(w->addresses);
}

/* The displacement of byte `offset` of a rank's memory. */
static inline MPI_Aint place(const struct window *w, int target, MPI_Aint offset)
{
    return is_dynamic(w->kind) ? MPI_Aint_add(w->addresses[target], offset) : offset;
}

enum { FENCE, START, LOCK, LOCK_ALL, WAYS };
static const char *const way_names[WAYS] = {"fence", "post and start", "lock", "lock_all"};

static inline MPI_Group only(const struct window *w, int member)
{
    MPI_Group all, one;
    OK(MPI_Win_get_group(w->win, &all));
    OK(MPI_Group_incl(all, 1, &member, &one));
    MPI_Group_free(&all);
    return one;
}

/* Loads after this see what was put here, and gets what was stored here before. */
static inline void see(MPI_Win win)
{
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    OK(MPI_Win_sync(win));
    OK(MPI_Win_unlock_all(win));
}

/* Opens an access epoch to `target`, and `origin` may access this process. Collective. What was
 * stored before is seen by them. */
static inline void open_epoch(struct window *w, int way, int target, int origin)
{
    if (way == FENCE) {
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
    } else if (way == START) {
        MPI_Group from = only(w, origin), to = only(w, target);
        OK(MPI_Win_post(from, 0, w->win));
        OK(MPI_Win_start(to, 0, w->win));
        MPI_Group_free(&from);
        MPI_Group_free(&to);
    } else {
        see(w->win);
        MPI_Barrier(w->comm);
        if (way == LOCK)
            OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
        else
            OK(MPI_Win_lock_all(0, w->win));
    }
}

/* Ends what open_epoch began: all accesses are complete everywhere. */
static inline void close_epoch(struct window *w, int way, int target)
{
    if (way == FENCE) {
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    } else if (way == START) {
        OK(MPI_Win_complete(w->win));
        OK(MPI_Win_wait(w->win));
    } else {
        if (way == LOCK)
            OK(MPI_Win_unlock(target, w->win));
        else
            OK(MPI_Win_unlock_all(w->win));
        MPI_Barrier(w->comm);
        see(w->win);
    }
}

#endif
