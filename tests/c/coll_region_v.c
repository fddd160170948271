// ranks: 2 3 4 8
// nodes: 1
// timeout: 120
// Collectives by regions whose blocks differ in length, reductions and scans that are split among the members, and nonblocking and
// persistent ones: at random, against what the standard says. REGIONS and REFUSED as in coll_region.c.
#include "counter.h"
#include "sides.h"

enum { ROUNDS = 120, MOST = 8, LEAST = 16 << 10, SPLIT = 32 << 10 };

static MPI_Datatype types[LAYOUTS];
static const int units[] = {1, 512, 4}, extents[] = {1, 600, 10};

/* One side: a block for each member, in a layout of its own, with gaps between them. */
typedef struct {
    int layouts[MOST], lengths[MOST], counts[MOST], displacements[MOST], bytes[MOST];
    MPI_Datatype types[MOST];
    size_t begins[MOST], ints;
    int *memory;
} Blocks;

static unsigned mixed(unsigned a, unsigned b, unsigned c)
{
    unsigned h = a * 2654435761u ^ b * 40503u ^ c * 2246822519u;
    h ^= h >> 15;
    h *= 2246822519u;
    return h ^ h >> 13;
}

/* Ints that a member gives another one: none, fewer than a region has, or more. */
static int length(int round, int from, int to)
{
    unsigned h = mixed((unsigned)round, (unsigned)from, (unsigned)to);
    switch (h % 4) {
    case 0: return 0;
    case 1: return 512 * (int)(1 + h / 4 % 7);
    default: return 512 * (int)(8 + h / 4 % 120);
    }
}

static Blocks lay_out(int members, const int *layouts, const int *lengths)
{
    Blocks side = {.ints = 0};
    for (int at = 0; at < members; at++) {
        int layout = layouts[at];
        size_t extent = (size_t)extents[layout];
        side.begins[at] = (side.ints + extent - 1) / extent * extent;
        side.layouts[at] = layout;
        side.types[at] = types[layout];
        side.lengths[at] = lengths[at];
        side.counts[at] = lengths[at] / units[layout];
        side.displacements[at] = (int)(side.begins[at] / extent);
        side.bytes[at] = (int)(side.begins[at] * sizeof(int));
        side.ints = side.begins[at] + ((size_t)side.counts[at] + 1) * extent;
    }
    side.memory = malloc((side.ints + GUARD) * sizeof(int));
    for (size_t at = 0; at < side.ints + GUARD; at++)
        side.memory[at] = -1;
    return side;
}

static void give(Blocks *side, int block, int round, int id)
{
    for (int at = 0; at < side->lengths[block]; at++)
        side->memory[side->begins[block] + place(side->layouts[block], (size_t)at)] = value(round, id, (size_t)at);
}

static void get(Blocks *side, int block, int round, int id)
{
    long bad = 0;
    for (int at = 0; at < side->lengths[block]; at++) {
        int *found = &side->memory[side->begins[block] + place(side->layouts[block], (size_t)at)];
        bad += *found != value(round, id, (size_t)at);
        *found = -1;
    }
    CHECK(bad == 0, "round %d, block %d of %d ints: %ld are wrong", round, block, side->lengths[block], bad);
}

static void drop(Blocks *side)
{
    long bad = 0;
    for (size_t at = 0; at < side->ints + GUARD; at++)
        bad += side->memory[at] != -1;
    CHECK(bad == 0, "%ld ints around the data were written", bad);
    free(side->memory);
}

/* Bytes that are copied of a block by a region, if its owner has it in that layout. */
static number by_region(int ints, int layout)
{
    size_t len = (size_t)ints * sizeof(int);
    return layout != SCATTERED && len >= LEAST ? len : 0;
}

/* What this process takes part in. */
typedef struct {
    MPI_Comm comm;
    int me, members, root, round, in_place, later, all;
    int layouts[MOST];
} Call;

static void complete(const Call *call, MPI_Request *request)
{
    if (call->later) OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static number gatherv(const Call *c)
{
    int lengths[MOST], all[MOST], root = c->me == c->root, in_place = c->in_place && root;
    for (int at = 0; at < c->members; at++) {
        lengths[at] = length(c->round, at, 99);
        all[at] = c->all;
    }
    Blocks recv = lay_out(root ? c->members : 0, all, lengths), send = lay_out(1, &c->layouts[c->me], &lengths[c->me]);
    give(&send, 0, c->round, c->me);
    if (in_place) give(&recv, c->me, c->round, c->me);
    void *from = in_place ? MPI_IN_PLACE : send.memory;
    MPI_Request request;
    if (c->later)
        OK(MPI_Igatherv(from, send.counts[0], send.types[0], recv.memory, recv.counts, recv.displacements, types[c->all], c->root, c->comm, &request));
    else
        OK(MPI_Gatherv(from, send.counts[0], send.types[0], recv.memory, recv.counts, recv.displacements, types[c->all], c->root, c->comm));
    complete(c, &request);
    for (int at = 0; at < c->members && root; at++)
        get(&recv, at, c->round, at);
    get(&send, 0, c->round, c->me);
    drop(&send);
    drop(&recv);
    return root ? 0 : by_region(lengths[c->me], c->all);
}

static number scatterv(const Call *c)
{
    int lengths[MOST], all[MOST], root = c->me == c->root, in_place = c->in_place && root;
    for (int at = 0; at < c->members; at++) {
        lengths[at] = length(c->round, 98, at);
        all[at] = c->all;
    }
    Blocks send = lay_out(root ? c->members : 0, all, lengths), recv = lay_out(1, &c->layouts[c->me], &lengths[c->me]);
    for (int at = 0; at < c->members && root; at++)
        give(&send, at, c->round, at);
    void *to = in_place ? MPI_IN_PLACE : recv.memory;
    MPI_Request request;
    if (c->later)
        OK(MPI_Iscatterv(send.memory, send.counts, send.displacements, types[c->all], to, recv.counts[0], recv.types[0], c->root, c->comm, &request));
    else
        OK(MPI_Scatterv(send.memory, send.counts, send.displacements, types[c->all], to, recv.counts[0], recv.types[0], c->root, c->comm));
    complete(c, &request);
    if (!in_place) get(&recv, 0, c->round, c->me);
    for (int at = 0; at < c->members && root; at++)
        get(&send, at, c->round, at);
    drop(&send);
    drop(&recv);
    return root ? 0 : by_region(lengths[c->me], c->all);
}

static number allgatherv(const Call *c)
{
    int lengths[MOST], all[MOST];
    number bytes = 0;
    for (int at = 0; at < c->members; at++) {
        lengths[at] = length(c->round, at, 97);
        all[at] = c->all;
        if (at != c->me) bytes += by_region(lengths[at], c->in_place ? c->all : c->layouts[at]);
    }
    Blocks recv = lay_out(c->members, all, lengths), send = lay_out(1, &c->layouts[c->me], &lengths[c->me]);
    give(&send, 0, c->round, c->me);
    if (c->in_place) give(&recv, c->me, c->round, c->me);
    void *from = c->in_place ? MPI_IN_PLACE : send.memory;
    MPI_Request request;
    if (c->later)
        OK(MPI_Iallgatherv(from, send.counts[0], send.types[0], recv.memory, recv.counts, recv.displacements, types[c->all], c->comm, &request));
    else
        OK(MPI_Allgatherv(from, send.counts[0], send.types[0], recv.memory, recv.counts, recv.displacements, types[c->all], c->comm));
    complete(c, &request);
    for (int at = 0; at < c->members; at++)
        get(&recv, at, c->round, at);
    get(&send, 0, c->round, c->me);
    drop(&send);
    drop(&recv);
    return bytes;
}

/* Of any type for each member, or of one. In place, what both give each other is as long. */
static number alltoall(const Call *c, int any)
{
    int given[MOST], taken[MOST], own[MOST], others[MOST];
    number bytes = 0;
    for (int at = 0; at < c->members; at++) {
        int low = c->me < at ? c->me : at, high = c->me < at ? at : c->me;
        given[at] = length(c->round, c->in_place ? low : c->me, c->in_place ? high : at);
        taken[at] = length(c->round, c->in_place ? low : at, c->in_place ? high : c->me);
        own[at] = any ? (c->layouts[c->me] + at) % LAYOUTS : c->layouts[c->me];
        others[at] = any ? (c->layouts[c->me] + 2 * at + 1) % LAYOUTS : c->all;
        /* What the other one gives has the layout that it has for this one, or is packed. */
        int theirs = any ? (c->layouts[at] + c->me) % LAYOUTS : c->layouts[at];
        if (at != c->me) bytes += by_region(taken[at], c->in_place ? DENSE : theirs);
    }
    Blocks send = lay_out(c->members, own, given), recv = lay_out(c->members, others, taken);
    for (int at = 0; at < c->members; at++)
        give(c->in_place ? &recv : &send, at, c->round, c->me * MOST + at);
    void *from = c->in_place ? MPI_IN_PLACE : send.memory;
    MPI_Request request;
    if (any && c->later)
        OK(MPI_Ialltoallw(from, send.counts, send.bytes, send.types, recv.memory, recv.counts, recv.bytes, recv.types, c->comm, &request));
    else if (any)
        OK(MPI_Alltoallw(from, send.counts, send.bytes, send.types, recv.memory, recv.counts, recv.bytes, recv.types, c->comm));
    else if (c->later)
        OK(MPI_Ialltoallv(from, send.counts, send.displacements, types[own[0]], recv.memory, recv.counts, recv.displacements, types[c->all], c->comm, &request));
    else
        OK(MPI_Alltoallv(from, send.counts, send.displacements, types[own[0]], recv.memory, recv.counts, recv.displacements, types[c->all], c->comm));
    complete(c, &request);
    for (int at = 0; at < c->members; at++) {
        get(&recv, at, c->round, at * MOST + c->me);
        if (!c->in_place) get(&send, at, c->round, c->me * MOST + at);
    }
    drop(&send);
    drop(&recv);
    return bytes;
}

/* A broadcast that is waited for, or one that is started twice. */
static number broadcast(const Call *c)
{
    int n = 512 * (4 + (int)(mixed((unsigned)c->round, 7, 7) % 200)), again = c->in_place;
    Side side = make(c->me == c->root ? c->all : c->layouts[c->me], n, 1);
    MPI_Request request;
    if (again) OK(MPI_Bcast_init(side.memory, side.count, side.type, c->root, c->comm, MPI_INFO_NULL, &request));
    for (int start = 0; start <= again; start++) {
        if (c->me == c->root) fill(&side, 0, c->round + start, c->root, n);
        if (again) OK(MPI_Start(&request));
        else OK(MPI_Ibcast(side.memory, side.count, side.type, c->root, c->comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        take(&side, 0, c->round + start, c->root, n);
    }
    if (again) OK(MPI_Request_free(&request));
    untouched(&side, 1);
    end(&side);
    return c->me == c->root ? 0 : by_region(n, c->all) * (number)(1 + again);
}

/* Nonblocking ones of equal blocks: all to all, or of all to all. */
static number exchange(const Call *c, int whole)
{
    int n = 512 * (4 + (int)(mixed((unsigned)c->round, 6, 6) % 60)), blocks = whole ? 1 : c->members;
    Side send = make(c->layouts[c->me], n, blocks), recv = make(c->all, n, c->members);
    number bytes = 0;
    for (int at = 0; at < blocks; at++)
        fill(&send, at, c->round, c->me * MOST + at, n);
    MPI_Request request;
    if (whole)
        OK(MPI_Iallgather(send.memory, send.count, send.type, recv.memory, recv.count, recv.type, c->comm, &request));
    else
        OK(MPI_Ialltoall(send.memory, send.count, send.type, recv.memory, recv.count, recv.type, c->comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int at = 0; at < c->members; at++) {
        take(&recv, at, c->round, at * MOST + (whole ? 0 : c->me), n);
        if (at != c->me) bytes += by_region(n, c->layouts[at]);
    }
    for (int at = 0; at < blocks; at++)
        take(&send, at, c->round, c->me * MOST + at, n);
    untouched(&recv, c->members);
    end(&send);
    end(&recv);
    return bytes;
}

enum { REDUCE, SCAN, EXSCAN };

static long operand(int round, int member, size_t at)
{
    return (long)(mixed((unsigned)round, (unsigned)member, (unsigned)at) & 0xffffff);
}

/* Members whose operands come to be in what `member` gets: those below the result. */
static int terms(const Call *c, int what, int member)
{
    return what == REDUCE ? (member == c->root ? c->members : 0) : member + (what == SCAN);
}

/* Gives the bytes that are copied if it is split, and says whether it is. */
static number reduction(const Call *c, int what, int *split)
{
    size_t n = 512 * (1 + mixed((unsigned)c->round, 5, 5) % 200), len = n * sizeof(long);
    long *in = malloc(len), *out = malloc(len), bad = 0;
    int in_place = c->in_place && (what != REDUCE || c->me == c->root), gets = terms(c, what, c->me);
    for (size_t at = 0; at < n; at++) {
        in[at] = operand(c->round, c->me, at);
        out[at] = in_place ? in[at] : -1;
    }
    void *from = in_place ? MPI_IN_PLACE : in;
    if (what == REDUCE) OK(MPI_Reduce(from, out, (int)n, MPI_LONG, MPI_SUM, c->root, c->comm));
    if (what == SCAN) OK(MPI_Scan(from, out, (int)n, MPI_LONG, MPI_SUM, c->comm));
    if (what == EXSCAN) OK(MPI_Exscan(from, out, (int)n, MPI_LONG, MPI_SUM, c->comm));
    for (size_t at = 0; at < n; at++) {
        long sum = 0;
        for (int other = 0; other < gets; other++)
            sum += operand(c->round, other, at);
        bad += gets > 0 ? out[at] != sum : !in_place && out[at] != -1;
        bad += in[at] != operand(c->round, c->me, at);
    }
    CHECK(bad == 0, "round %d: %ld of %zu results of reduction %d are wrong", c->round, bad, n, what);
    free(in);
    free(out);
    *split = !c->in_place && len >= SPLIT;
    size_t members = (size_t)c->members, me = (size_t)c->me;
    size_t share = (n * (me + 1) / members - n * me / members) * sizeof(long), puts = 0;
    for (int other = 0; other < c->members; other++)
        puts += other != c->me && terms(c, what, other) > 0;
    return *split ? share * (members - 1 + puts) : 0;
}

int main(int argc, char **argv)
{
    const char *refused = getenv("REFUSED"), *regions = getenv("REGIONS"), *self = getenv("TERN_RANK");
    const char *mechanism = getenv("TERN_MECHANISM");
    int odd = self != NULL && atoi(self) % 2 == 1, can = 1;
    int all = regions != NULL && strcmp(regions, "all") == 0, none = regions != NULL && !all;
    int by_kernel = mechanism != NULL && strcmp(mechanism, "cma") == 0;
    if (refused != NULL && (strcmp(refused, "all") == 0 || (strcmp(refused, "odd") == 0 && odd))) can = refuse_all();
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(refused == NULL || self != NULL, "the launcher does not tell the rank");
    CHECK(size <= MOST, "%d processes", size);
    if (!can) {
        printf("skipped: a process may not refuse itself system calls here\n");
        return MPI_Finalize();
    }
    for (int layout = 0; layout < LAYOUTS; layout++) {
        Side side = make(layout, 512, 1);
        OK(MPI_Type_dup(side.type, &types[layout]));
        end(&side);
    }
    MPI_Comm comms[3];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank * 2 / size, 0, &comms[2]));
    MPI_T_pvar_handle shared = counter("collective_shared"), moved = counter_of("region_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    number splits = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2 && refused != NULL && strcmp(refused, "late") == 0 && odd) CHECK(refuse_all());
        Call call = {.comm = comms[random_below(3)], .round = round};
        int what = (int)random_below(11), split = 0;
        unsigned root = random_below(1000);
        call.in_place = random_below(3) == 0;
        call.later = random_below(2) == 0;
        call.all = (int)random_below(LAYOUTS);
        for (int of = 0; of < MOST; of++)
            call.layouts[of] = (int)random_below(LAYOUTS);
        OK(MPI_Comm_rank(call.comm, &call.me));
        OK(MPI_Comm_size(call.comm, &call.members));
        call.root = (int)(root % (unsigned)call.members);
        number before = counted(moved), expected = 0;
        switch (what) {
        case 0: expected = gatherv(&call); break;
        case 1: expected = scatterv(&call); break;
        case 2: expected = allgatherv(&call); break;
        case 3: expected = alltoall(&call, 0); break;
        case 4: expected = alltoall(&call, 1); break;
        case 5: expected = broadcast(&call); break;
        case 6: expected = exchange(&call, 0); break;
        case 7: expected = exchange(&call, 1); break;
        default: expected = reduction(&call, what - 8, &split); break;
        }
        if (call.members == 1) expected = 0;
        splits += split && call.members > 1;
        number copied = counted(moved) - before;
        /* Of memory that is shared by now, what is reduced is not copied first. */
        if (all && (what < 8 || by_kernel))
            CHECK(copied == expected, "round %d, collective %d: %llu of %llu bytes", round, what, copied, expected);
        if (none) CHECK(copied == 0, "round %d, collective %d: %llu bytes", round, what, copied);
    }
    if (all) CHECK(splits > 0 && counted(shared) == splits, "%llu of %llu reductions were split", counted(shared), splits);
    for (int at = 0; at < 3; at++)
        OK(MPI_Comm_free(&comms[at]));
    for (int layout = 0; layout < LAYOUTS; layout++)
        OK(MPI_Type_free(&types[layout]));
    end_counting();
    return finish();
}
