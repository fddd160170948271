// ranks: 2 3
// timeout: 120
// flags: -lm
// Random one-sided communication beside a plain model of the memory of all ranks, which each rank keeps for itself: all draw the same
// numbers. Windows of every kind, epochs of every kind, all accesses, between types whose data lies anywhere from their address.
// In an epoch each origin has parts of each window for itself, or all combine the same elements by one operation.
// Arguments: how many windows [30], the seed [5]. A failure tells the seed, the window and the access.
#include "random_window.h"

/* ---- accesses */

struct access {
    int kind, origin, target, request, count;
    long elements;
    enum op op;
    struct type type;
    MPI_Aint displacement, from; /* from: where the type's address lies in the window */
};

/* One side of an access at its origin. */
struct side {
    struct type type;
    int count, borrowed;
    struct memory memory;
};

static struct side make_side(const struct access *a)
{
    struct side side = {.count = 1};
    const int form = a->kind == FETCH || a->kind == SWAP ? 0 : (int)draw(3);
    if (form == 0) {
        side.type = named_type(a->type.basic);
        side.count = (int)a->elements;
    } else if (form == 1) {
        side.type = random_type_of(a->type.basic, (int)a->elements);
    } else {
        side.type = a->type;
        side.count = a->count;
        side.borrowed = 1;
    }
    MPI_Aint low, high;
    span_of(&side.type, side.count, &low, &high);
    side.memory.len = (size_t)(high - low) + 32;
    side.memory.raw = malloc(side.memory.len);
    side.memory.base = side.memory.raw + 16 - low;
    fill(side.memory.raw, side.memory.len);
    return side;
}

static void free_side(struct side *side)
{
    if (!side->borrowed)
        free_type(&side->type);
}

static int is_accumulate(const struct access *a)
{
    return a->kind >= ACCUMULATE;
}

static int is_changing(const struct access *a)
{
    return a->kind != GET;
}

/* Where the access goes between two bytes of the target's memory; 0: there is no room. */
static int find_place(struct access *a, MPI_Aint from, MPI_Aint to)
{
    const int unit = w.units[a->target];
    MPI_Aint low, high;
    span_of(&a->type, a->count, &low, &high);
    MPI_Aint first = (from - low + unit - 1) / unit, last = (to - high) / unit;
    if (from - low <= 0)
        first = is_dynamic() ? from - low : 0;
    if (to - high < 0 && !is_dynamic())
        return 0;
    if (first > last)
        return 0;
    const MPI_Aint room = last - first + 1, near = room < 3000 ? room : 3000;
    const int where = (int)draw(4);
    a->displacement = where == 0 ? first + draw(near) : where == 1 ? last - draw(near) : where == 2 ? first + draw(room) : last;
    if (draw(2) && a->displacement - first >= 8)
        a->displacement -= (a->displacement % 8 + 8) % 8;
    a->from = a->displacement * unit;
    return 1;
}

/* Whether its elements are apart from each other, and from what was accessed before. `fresh`: only from each other. */
static int is_free(const struct access *a, int fresh)
{
    char *mark = marks[a->target] + a->from;
    const int len = footprint(a->type.basic);
    int overlaps = 0, meets = 0;
    long done = 0;
    for (; done < a->elements && !overlaps; done++)
        for (int k = 0; k < len; k++) {
            char *at = mark + element_at(&a->type, done) + k;
            overlaps |= *at & 64;
            meets |= is_changing(a) ? *at & 3 : *at & CHANGED;
            *at |= 64;
        }
    while (done-- > 0)
        for (int k = 0; k < len; k++)
            mark[element_at(&a->type, done) + k] &= 63;
    return !overlaps && (fresh || !meets);
}

static void mark_bytes(const struct access *a)
{
    for (long i = 0; i < a->elements; i++)
        for (int k = 0; k < footprint(a->type.basic); k++)
            marks[a->target][a->from + element_at(&a->type, i) + k] |= is_changing(a) ? CHANGED : READ;
}

/* What the access does to the model, and what its result is to be. */
static char *expect(const struct access *a, const struct side *origin, const struct side *result, const struct side *compare)
{
    char *expected = malloc(result->memory.len), *into = expected + (result->memory.base - result->memory.raw);
    memcpy(expected, result->memory.raw, result->memory.len);
    for (long i = 0; i < a->elements; i++) {
        char *there = model[a->target] + a->from + element_at(&a->type, i);
        const char *from = origin->memory.base + element_at(&origin->type, i);
        if (a->kind != PUT && a->kind != ACCUMULATE)
            copy_element(a->type.basic, into + element_at(&result->type, i), there);
        if (a->kind == SWAP ? !memcmp(compare->memory.base, there, (size_t)a->type.basic->size) : a->kind == PUT)
            copy_element(a->type.basic, there, from);
        else if (a->kind >= ACCUMULATE && a->kind < SWAP)
            combine(a->type.basic, a->op, there, from);
    }
    return expected;
}

static void call(const struct access *a, const struct side *o, const struct side *r, const struct side *c, MPI_Request *request)
{
    const int t = a->target, n = a->count;
    const MPI_Datatype type = a->type.handle;
    const MPI_Op op = op_handle(a->op);
    const MPI_Aint at = is_dynamic() ? MPI_Aint_add(w.addresses[t], a->displacement) : a->displacement;
    char *from = o->memory.base, *into = r->memory.base;
    const int nothing = a->op == NO_OP && a->elements % 2;
    if (a->kind == PUT && a->request)
        OK(MPI_Rput(from, o->count, o->type.handle, t, at, n, type, w.win, request));
    else if (a->kind == PUT)
        OK(MPI_Put(from, o->count, o->type.handle, t, at, n, type, w.win));
    else if (a->kind == GET && a->request)
        OK(MPI_Rget(into, r->count, r->type.handle, t, at, n, type, w.win, request));
    else if (a->kind == GET)
        OK(MPI_Get(into, r->count, r->type.handle, t, at, n, type, w.win));
    else if (a->kind == ACCUMULATE && a->request)
        OK(MPI_Raccumulate(from, o->count, o->type.handle, t, at, n, type, op, w.win, request));
    else if (a->kind == ACCUMULATE)
        OK(MPI_Accumulate(from, o->count, o->type.handle, t, at, n, type, op, w.win));
    else if (a->kind == GET_ACCUMULATE && a->request)
        OK(MPI_Rget_accumulate(nothing ? NULL : from, nothing ? 0 : o->count, nothing ? MPI_INT : o->type.handle, into, r->count,
                               r->type.handle, t, at, n, type, op, w.win, request));
    else if (a->kind == GET_ACCUMULATE)
        OK(MPI_Get_accumulate(nothing ? NULL : from, nothing ? 0 : o->count, nothing ? MPI_INT : o->type.handle, into, r->count,
                              r->type.handle, t, at, n, type, op, w.win));
    else if (a->kind == FETCH)
        OK(MPI_Fetch_and_op(nothing ? NULL : from, into, type, t, at, op, w.win));
    else
        OK(MPI_Compare_and_swap(from, c->memory.base, into, type, t, at, w.win));
}

/* Makes the access, if this rank is its origin; everybody's model knows of it. */
static void perform(struct access *a)
{
    struct side origin = make_side(a), result = make_side(a), compare = make_side(a);
    if (needs_values(a->type.basic, a->op) || (a->op == REPLACE && a->type.basic->class >= FLOATING && a->type.basic->class != OPAQUE))
        for (long i = 0; i < a->elements; i++)
            small_value(a->type.basic, origin.memory.base + element_at(&origin.type, i));
    if (a->kind == SWAP && draw(2))
        memcpy(compare.memory.base, model[a->target] + a->from, (size_t)a->type.basic->size);
    char *expected = expect(a, &origin, &result, &compare);
    mark_bytes(a);
    const int soon = (int)draw(2);
    if (rank == a->origin) {
        struct pending *one = &pendings[waiting++];
        *one = (struct pending){.target = a->target, .step = step, .request = MPI_REQUEST_NULL};
        snprintf(one->text, sizeof one->text, "%s%s (%s) of %d of %.450s at %ld, unit %d, of rank %d", a->request ? "r" : "",
                 access_names[a->kind], op_names[a->op], a->count, a->type.text, (long)a->displacement, w.units[a->target], a->target);
        one->origin = origin.memory;
        one->result = result.memory;
        one->compare = compare.memory;
        one->expected = w.shared_by_all ? NULL : expected;
        call(a, &origin, &result, &compare, &one->request);
        if (one->request != MPI_REQUEST_NULL && soon) {
            OK(MPI_Wait(&one->request, MPI_STATUS_IGNORE));
            end_access(one);
        }
    } else {
        free(origin.memory.raw);
        free(result.memory.raw);
        free(compare.memory.raw);
    }
    if (rank != a->origin || w.shared_by_all)
        free(expected);
    free_side(&origin);
    free_side(&result);
    free_side(&compare);
}

static struct basic *draw_basic(int kind)
{
    struct basic *basic;
    do
        basic = &basics[draw(BASICS)];
    while ((kind == SWAP || w.shared_by_all) && basic->class > BYTES);
    return basic;
}

static enum op draw_op(const struct basic *basic, int kind)
{
    enum op op;
    do
        op = (enum op)draw(OPS);
    while (!takes(basic, op) || (op == NO_OP && kind == ACCUMULATE));
    return op;
}

/* A type and a count that suit the access. */
static void draw_type(struct access *a, const struct basic *basic)
{
    if (a->kind >= FETCH || draw(4) == 0) {
        a->type = named_type(basic);
        a->count = a->kind >= FETCH ? 1 : draw(2) ? (int)draw(8) : (int)draw(1500);
    } else {
        a->type = random_type(basic);
        a->count = draw(3) ? 1 : (int)draw(4);
    }
    a->elements = (long)a->count * a->type.elements;
}

/* One access of `origin` to `target`, if there is room for what was drawn. */
static void access_once(int origin, int target)
{
    struct access a = {.kind = (int)draw(ACCESSES), .origin = origin, .target = target};
    a.request = w.way >= LOCK && a.kind < FETCH && draw(3) == 0;
    const struct basic *basic = draw_basic(a.kind);
    a.op = draw_op(basic, a.kind);
    draw_type(&a, basic);
    const int part = (int)draw(size), mine = w.owners[target][part] == origin;
    if (a.elements > 0 && mine && find_place(&a, w.cuts[target][part], w.cuts[target][part + 1]) && is_free(&a, 1)) {
        const int meets = !is_free(&a, 0);
        if (meets && w.way >= LOCK)
            flush(origin, target);
        if (!meets || w.way >= LOCK) {
            if (is_accumulate(&a) && a.kind != SWAP && needs_values(basic, a.op)) {
                struct access before = a;
                before.kind = ACCUMULATE;
                before.op = REPLACE;
                before.request = 0;
                perform(&before);
            }
            perform(&a);
        }
    } else if (a.elements == 0 && mine) {
        a.from = 0;
        perform(&a);
    }
    free_type(&a.type);
}

/* Accumulates of all to the same elements, which lie at multiples of their size from `residue` on. */
static void access_together(int origin, int target, const struct basic *basic, enum op op, int residue)
{
    struct access a = {.kind = ACCUMULATE + (int)draw(3), .origin = origin, .target = target, .op = op};
    a.request = w.way >= LOCK && a.kind < FETCH && draw(3) == 0;
    draw_type(&a, basic);
    int fits = a.elements > 0 && find_place(&a, 0, w.bytes[target]) && is_free(&a, 1);
    for (long i = 0; fits && i < a.elements; i++)
        fits = (w.addresses[target] * is_dynamic() + a.from + element_at(&a.type, i) - residue) % basic->size == 0;
    if (fits)
        perform(&a);
    free_type(&a.type);
}

/* ---- epochs */

/* Which parts of each window each origin has, and whom it accesses. */
static void divide(void)
{
    for (int target = 0; target < size; target++) {
        const int one = draw(2) ? (int)draw(size) : -1;
        w.cuts[target][0] = 0;
        for (int i = 0; i < size; i++) {
            const MPI_Aint left = w.bytes[target] - w.cuts[target][i];
            w.cuts[target][i + 1] = i == size - 1 ? w.bytes[target] : w.cuts[target][i] + draw(left + 1);
            w.owners[target][i] = one >= 0 ? one : (i + number) % size;
            w.reaches[i][target] = draw(4) > 0;
        }
        if (one >= 0) /* It has all of it as one part. */
            for (int i = 1; i < size; i++)
                w.cuts[target][i] = w.bytes[target];
        memset(marks[target], FREE, (size_t)w.bytes[target]);
    }
}

/* Ranks stand at the other end of this one: as targets, or as origins. */
static MPI_Group others(int targets)
{
    int ranks[MOST_RANKS], count = 0;
    MPI_Group all, some;
    for (int i = 0; i < size; i++)
        if (targets ? w.reaches[rank][i] : w.reaches[i][rank])
            ranks[count++] = i;
    OK(MPI_Win_get_group(w.win, &all));
    OK(MPI_Group_incl(all, count, ranks, &some));
    OK(MPI_Group_free(&all));
    return some;
}

static void free_group(MPI_Group group)
{
    if (group != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&group));
}

/* Loads after this see what others did, and others see what was stored before. */
static void see(void)
{
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win));
    OK(MPI_Win_sync(w.win));
    OK(MPI_Win_unlock_all(w.win));
}

static void open_epoch(void)
{
    w.locked = -1;
    if (w.way == FENCE) {
        OK(MPI_Win_fence(w.assert ? MPI_MODE_NOPRECEDE : 0, w.win));
    } else if (w.way == START) {
        MPI_Group from = others(0), to = others(1);
        const int assert = w.assert ? MPI_MODE_NOCHECK : 0;
        OK(MPI_Win_post(from, assert, w.win));
        if (assert)
            MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_start(to, assert, w.win));
        free_group(from);
        free_group(to);
    } else {
        see();
        MPI_Barrier(MPI_COMM_WORLD);
        if (w.way == LOCK_ALL)
            OK(MPI_Win_lock_all(w.assert ? MPI_MODE_NOCHECK : 0, w.win));
    }
}

static void unlock(void)
{
    if (w.locked < 0)
        return;
    wait_for_requests();
    OK(MPI_Win_unlock(w.locked, w.win));
    end_accesses(w.locked);
    w.locked = -1;
}

static void close_epoch(void)
{
    if (w.way == FENCE) {
        OK(MPI_Win_fence(w.assert ? MPI_MODE_NOSUCCEED : 0, w.win));
    } else if (w.way == START) {
        OK(MPI_Win_complete(w.win));
        for (int over = 0; w.assert && !over;)
            OK(MPI_Win_test(w.win, &over));
        if (!w.assert)
            OK(MPI_Win_wait(w.win));
    } else {
        wait_for_requests();
        unlock();
        if (w.way == LOCK_ALL)
            OK(MPI_Win_unlock_all(w.win));
        MPI_Barrier(MPI_COMM_WORLD);
        see();
    }
    end_accesses(-1);
    forget_accesses();
}

/* Before an access of `origin`: false when it may not reach `target`. `locked` is what the model knows of its lock. */
static int reach(int origin, int target, int *locked)
{
    if (w.way == START)
        return w.reaches[origin][target];
    if (w.way != LOCK || *locked == target)
        return 1;
    const int exclusive = (int)draw(2);
    if (*locked >= 0)
        clear_marks(origin, *locked);
    *locked = target;
    if (rank == origin) {
        unlock();
        const int assert = w.assert && !exclusive ? MPI_MODE_NOCHECK : 0;
        OK(MPI_Win_lock(exclusive && !w.assert ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, assert, w.win));
        w.locked = target;
    }
    return 1;
}

/* Each rank stores to its own memory. */
static void store(void)
{
    for (int i = 0; i < size; i++) {
        const MPI_Aint from = draw(w.bytes[i] + 1), len = draw(w.bytes[i] - from + 1);
        if (draw(2))
            continue;
        fill(model[i] + from, (size_t)len);
        if (i == rank)
            memcpy(w.base + from, model[i] + from, (size_t)len);
    }
}

static void epoch(void)
{
    w.way = (int)draw(WAYS);
    w.assert = (int)draw(2);
    w.shared_by_all = draw(4) == 0;
    const struct basic *basic = draw_basic(SWAP);
    enum op op;
    do
        op = draw_op(basic, ACCUMULATE);
    while (op == REPLACE || (op >= LAND && op <= LXOR));
    const int residue = draw(3) ? 0 : (int)draw(basic->size);
    divide();
    store();
    open_epoch();
    for (int origin = 0; origin < size; origin++) {
        int locked = -1, target = (int)draw(size);
        for (int left = (int)draw(30); left > 0; left--) {
            step++;
            target = draw(3) ? target : (int)draw(size);
            if (!reach(origin, target, &locked))
                continue;
            if (w.shared_by_all)
                access_together(origin, target, basic, op, residue);
            else
                access_once(origin, target);
        }
    }
    close_epoch();
    check_window("after the epoch");
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const int windows = argc > 1 ? atoi(argv[1]) : 30;
    seed = argc > 2 ? atol(argv[2]) : 5;
    random_state = (unsigned long long)seed;
    know_basics();
    MPI_Comm node;
    int here;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    for (int i = 0; i < size; i++) {
        model[i] = malloc(MOST_BYTES);
        marks[i] = malloc(MOST_BYTES);
    }
    for (int all = 0; number < windows && !all; number++) {
        open_window(here == size);
        for (int left = (int)draw(5) + 1; left > 0 && !all; left--) {
            epoch();
            MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        if (all)
            MPI_Abort(MPI_COMM_WORLD, 1);
        close_window();
    }
    for (int i = 0; i < size; i++) {
        free(model[i]);
        free(marks[i]);
    }
    return finish();
}
