/* Windows for random one-sided communication, a plain model of the memory of all ranks, and what is under way. */
#ifndef RANDOM_WINDOW_H
#define RANDOM_WINDOW_H

#include "random_model.h"

enum { MOST_RANKS = 8, MOST_BYTES = 300000, GUARD = 5000, MOST_PENDING = 200 };
enum { ALLOCATED, SHARED, APART, CREATED, IN_ALLOCATED, DYNAMIC, PIECES, KINDS };
static const char *const kind_names[KINDS] = {"allocate", "allocate_shared", "allocate_shared not contiguous", "create",
                                              "create on MPI_Alloc_mem", "dynamic", "dynamic in pieces"};
enum { FENCE, START, LOCK, LOCK_ALL, WAYS };
static const char *const way_names[WAYS] = {"fence", "start", "lock", "lock_all"};
enum { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH, SWAP, ACCESSES };
static const char *const access_names[ACCESSES] = {"put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
/* What an access since the last flush has done to a byte. */
enum { FREE, READ, CHANGED };

static long seed;
static int number, step; /* of the window, and of the access */

static struct {
    MPI_Win win;
    int kind, way, assert, shared_by_all, locked; /* locked: the target, of this rank's */
    char *raw, *base;
    MPI_Aint bytes[MOST_RANKS], addresses[MOST_RANKS], cuts[MOST_RANKS][MOST_RANKS + 1];
    int units[MOST_RANKS], owners[MOST_RANKS][MOST_RANKS], reaches[MOST_RANKS][MOST_RANKS];
} w;
static char *model[MOST_RANKS], *marks[MOST_RANKS];

/* Memory of this process that an access reads or writes. */
struct memory {
    char *raw, *base;
    size_t len;
};

static struct pending {
    struct memory origin, result, compare;
    char *expected;
    int target, checked, step;
    MPI_Request request;
    char text[700];
} pendings[MOST_PENDING];
static int waiting;

static void tell(const char *text, const char *what, long at, int is, int should)
{
    failures++;
    fprintf(stderr, "rank %d, seed %ld, window %d (%s, %s), step %d: %s: %s %ld is %d, not %d\n", rank, seed, number, kind_names[w.kind],
            way_names[w.way], step, text, what, at, is, should);
}

static void fill(char *memory, size_t len)
{
    uint64_t state = (uint64_t)draw(1 << 30);
    for (size_t i = 0; i < len; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        memory[i] = (char)(state >> 56);
    }
}

/* ---- windows */

static int piece_starts(MPI_Aint bytes, MPI_Aint starts[4])
{
    const MPI_Aint edges[] = {0, bytes / 3 + 1, bytes / 3 + 2, bytes};
    memcpy(starts, edges, sizeof edges);
    if (w.kind == PIECES && bytes >= 6)
        return 3;
    starts[1] = bytes;
    return 1;
}

static int is_dynamic(void)
{
    return w.kind == DYNAMIC || w.kind == PIECES;
}

static MPI_Aint draw_bytes(void)
{
    switch (draw(6)) {
    case 0:
        return draw(4) * draw(100);
    case 1:
        return draw(20000);
    default:
        return 60000 + draw(MOST_BYTES - 60000);
    }
}

static void allocate(int own_unit, MPI_Aint offset)
{
    const MPI_Aint bytes = w.bytes[rank];
    MPI_Info info = MPI_INFO_NULL;
    w.raw = NULL;
    if (w.kind == ALLOCATED) {
        OK(MPI_Win_allocate(bytes, own_unit, info, MPI_COMM_WORLD, &w.base, &w.win));
    } else if (w.kind == SHARED || w.kind == APART) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "alloc_shared_noncontig", w.kind == APART ? "true" : "false"));
        OK(MPI_Win_allocate_shared(bytes, own_unit, info, MPI_COMM_WORLD, &w.base, &w.win));
        OK(MPI_Info_free(&info));
    } else {
        const MPI_Aint all = bytes + 2 * GUARD + offset;
        if (w.kind == IN_ALLOCATED)
            OK(MPI_Alloc_mem(all, MPI_INFO_NULL, &w.raw));
        else
            w.raw = malloc((size_t)all);
        memset(w.raw, 90, (size_t)all);
        w.base = w.raw + GUARD + offset;
        if (!is_dynamic()) {
            OK(MPI_Win_create(w.base, bytes, own_unit, MPI_INFO_NULL, MPI_COMM_WORLD, &w.win));
            return;
        }
        MPI_Aint starts[4];
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w.win));
        for (int i = piece_starts(bytes, starts); i-- > 0;)
            OK(MPI_Win_attach(w.win, w.base + starts[i], starts[i + 1] - starts[i]));
    }
}

static void open_window(int one_node)
{
    static const int units[] = {1, 1, 2, 4, 8, 12, 3};
    MPI_Aint own = 0, offset = 0;
    w.kind = draw(3) ? (int)draw(KINDS) : CREATED;
    if (!one_node && (w.kind == SHARED || w.kind == APART))
        w.kind = ALLOCATED;
    for (int i = 0; i < size; i++) {
        w.bytes[i] = draw_bytes();
        w.units[i] = is_dynamic() ? 1 : units[draw(7)];
        const MPI_Aint at = draw(2) ? draw(512) * 8 : draw(4096);
        offset = i == rank ? at : offset;
    }
    allocate(w.units[rank], offset);
    OK(MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN));
    OK(MPI_Get_address(w.base, &own));
    OK(MPI_Allgather(&own, 1, MPI_AINT, w.addresses, 1, MPI_AINT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) {
        fill(model[i], (size_t)w.bytes[i]);
        memset(marks[i], FREE, MOST_BYTES);
    }
    memcpy(w.base, model[rank], (size_t)w.bytes[rank]);
}

static void close_window(void)
{
    MPI_Aint starts[4];
    for (int i = is_dynamic() ? piece_starts(w.bytes[rank], starts) : 0; i-- > 0;)
        OK(MPI_Win_detach(w.win, w.base + starts[i]));
    OK(MPI_Win_free(&w.win));
    if (w.kind == IN_ALLOCATED)
        OK(MPI_Free_mem(w.raw));
    else
        free(w.raw);
}

/* All of this rank's memory is what the model says, and nothing around it has changed. */
static void check_window(const char *when)
{
    const char *own = w.base, *guard = w.base + w.bytes[rank];
    for (MPI_Aint i = 0; i < w.bytes[rank]; i++)
        if (own[i] != model[rank][i])
            return tell(when, "byte", i, own[i], model[rank][i]);
    for (int i = 0; w.raw && i < GUARD; i++)
        if (w.raw[i] != 90 || guard[i] != 90)
            return tell(when, "a byte around the window,", w.raw[i] != 90 ? w.raw + i - w.base : guard + i - w.base, guard[i], 90);
}

/* ---- accesses that are under way */

static void end_access(struct pending *one)
{
    if (one->checked)
        return;
    one->checked = 1;
    for (size_t i = 0; one->expected && i < one->result.len; i++)
        if (one->result.raw[i] != one->expected[i]) {
            step = one->step;
            tell(one->text, "byte of the result", one->result.raw + i - one->result.base, one->result.raw[i], one->expected[i]);
            return;
        }
}

static void wait_for_requests(void)
{
    for (int i = 0; i < waiting; i++)
        if (pendings[i].request != MPI_REQUEST_NULL)
            OK(MPI_Wait(&pendings[i].request, MPI_STATUS_IGNORE));
}

/* Everything of this rank at `target`, or everywhere, is complete. */
static void end_accesses(int target)
{
    for (int i = 0; i < waiting; i++)
        if (target < 0 || pendings[i].target == target)
            end_access(&pendings[i]);
}

static void forget_accesses(void)
{
    for (int i = 0; i < waiting; i++) {
        free(pendings[i].origin.raw);
        free(pendings[i].result.raw);
        free(pendings[i].compare.raw);
        free(pendings[i].expected);
    }
    waiting = 0;
}

static void clear_marks(int origin, int target)
{
    for (int i = 0; i < size; i++)
        if (w.owners[target][i] == origin)
            memset(marks[target] + w.cuts[target][i], FREE, (size_t)(w.cuts[target][i + 1] - w.cuts[target][i]));
}

/* All that `origin` has done at `target` is complete there. */
static void flush(int origin, int target)
{
    const int all = draw(3) == 0;
    for (int i = 0; i < size; i++)
        if (all || i == target)
            clear_marks(origin, i);
    if (rank != origin)
        return;
    OK(all ? MPI_Win_flush_all(w.win) : MPI_Win_flush(target, w.win));
    end_accesses(all ? -1 : target);
}

#endif
