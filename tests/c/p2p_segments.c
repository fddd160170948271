// ranks: 2 4
// nodes: 1
// timeout: 120
// mpiexec: -x TERN_POLICY=-copies
// Long messages of irregular datatypes with long blocks, from all kinds of memory to all kinds of memory, by every way to send and to receive. They
// go by regions of segments wherever one copy is possible, which the counters show.
#include "counter.h"

enum { BLOCK = 4096, BLOCKS = 48, TOTAL = BLOCK * BLOCKS, ROOM = 3 * TOTAL, MOST = 200, FORMS = 10, SEEN = 8, MANY = 40, UNTOUCHED = 0xee };

/* Data: what MPI is told, and where its bytes lie, in order. */
typedef struct {
    const char *name;
    void *base;
    int count, pieces;
    MPI_Datatype type;
    char *at[MOST];
    int len[MOST];
} form;

/* Memory of one side of a message. */
typedef struct {
    char *heap, *shared, *part_of_stack;
    form forms[FORMS];
} side;

static char of_static[2][TOTAL / 4];
static int to, from;
static side out, in;

static void add(form *f, char *at, int len)
{
    f->at[f->pieces] = at;
    f->len[f->pieces++] = len;
}

/* The pieces, relative to `base`, by hindexed; NULL: at their addresses. */
static void by_pieces(form *f, const char *name, char *base)
{
    MPI_Aint at[MOST];
    f->name = name;
    f->base = base ? (void *)base : MPI_BOTTOM;
    f->count = 1;
    for (int i = 0; i < f->pieces; i++) {
        OK(MPI_Get_address(f->at[i], &at[i]));
        if (base) at[i] = f->at[i] - base;
    }
    OK(MPI_Type_create_hindexed(f->pieces, f->len, at, MPI_BYTE, &f->type));
}

static void dense(form *f, char *memory)
{
    *f = (form){.name = "dense", .base = memory, .count = TOTAL, .type = MPI_BYTE};
    add(f, memory, TOTAL);
    OK(MPI_Type_dup(MPI_BYTE, &f->type));
}

static void regular(form *f, char *memory)
{
    *f = (form){.name = "vector", .base = memory, .count = 1};
    for (int i = 0; i < BLOCKS; i++) add(f, memory + i * 3 * BLOCK, BLOCK);
    OK(MPI_Type_vector(BLOCKS, BLOCK, 3 * BLOCK, MPI_BYTE, &f->type));
}

/* Ascending, with gaps of all lengths and empty blocks. */
static void gaps(form *f, char *memory)
{
    *f = (form){0};
    int at = 5;
    for (int i = 0; i < BLOCKS; i++) {
        add(f, memory + at, i % 2 ? BLOCK + 40 : BLOCK - 40);
        at += BLOCK + 40 + i * 37;
        if (i % 7 == 0) add(f, memory + at, 0);
    }
    by_pieces(f, "gaps", memory);
}

/* From behind, so that displacements are negative. */
static void backwards(form *f, char *memory)
{
    *f = (form){0};
    char *end = memory + ROOM;
    for (int i = 0; i < BLOCKS; i++) add(f, end - (i + 1) * (BLOCK + 100 + i % 3), BLOCK);
    by_pieces(f, "backwards", end);
}

/* A box within a box, each row a block. */
static void box(form *f, char *memory)
{
    const int sizes[] = {5, 16, 6000}, sub[] = {4, 12, BLOCK}, starts[] = {1, 2, 100};
    *f = (form){.name = "box", .base = memory, .count = 1};
    for (int i = 0; i < sub[0]; i++)
        for (int j = 0; j < sub[1]; j++)
            add(f, memory + ((starts[0] + i) * sizes[1] + starts[1] + j) * sizes[2] + starts[2], BLOCK);
    OK(MPI_Type_create_subarray(3, sizes, sub, starts, MPI_ORDER_C, MPI_BYTE, &f->type));
}

/* Structures whose parts are of several lengths and not in order; the second one lies before the first. */
static void structures(form *f, char *memory)
{
    enum { FIRST = 20000, SECOND = 48000, THIRD = TOTAL / 2 - FIRST - SECOND, EXTENT = ROOM / 2 };
    *f = (form){.name = "structures", .base = memory + EXTENT, .count = 2};
    MPI_Datatype type;
    OK(MPI_Type_create_struct(3, (int[]){FIRST, SECOND, THIRD}, (MPI_Aint[]){80000, 8, 120000},
                              (MPI_Datatype[]){MPI_BYTE, MPI_BYTE, MPI_BYTE}, &type));
    OK(MPI_Type_create_resized(type, 0, -EXTENT, &f->type));
    OK(MPI_Type_free(&type));
    for (int i = 0; i < 2; i++) {
        char *base = memory + EXTENT * (1 - i);
        add(f, base + 80000, FIRST);
        add(f, base + 8, SECOND);
        add(f, base + 120000, THIRD);
    }
}

/* In memory of every kind, by absolute addresses. */
static void scattered(form *f, side *s, int which)
{
    *f = (form){0};
    for (int i = 0; i < 12; i++) {
        int at = i * (BLOCK + 50);
        add(f, s->heap + ROOM + at, BLOCK);
        add(f, of_static[which] + i * BLOCK, BLOCK);
        add(f, s->part_of_stack + i * BLOCK, BLOCK);
        add(f, s->shared + at, BLOCK);
    }
    by_pieces(f, "scattered", NULL);
}

/* In memory that all processes see. */
static void shared(form *f, const char *name, void (*make)(form *, char *), char *memory)
{
    make(f, memory);
    f->name = name;
}

static void prepare(side *s, int which, char *part_of_stack)
{
    s->part_of_stack = part_of_stack;
    s->heap = malloc(2 * ROOM);
    OK(MPI_Alloc_mem(ROOM, MPI_INFO_NULL, &s->shared));
    dense(&s->forms[0], s->heap);
    regular(&s->forms[1], s->heap);
    gaps(&s->forms[2], s->heap);
    backwards(&s->forms[3], s->heap);
    box(&s->forms[4], s->heap);
    structures(&s->forms[5], s->heap);
    scattered(&s->forms[6], s, which);
    shared(&s->forms[7], "shared", gaps, s->shared);
    shared(&s->forms[SEEN], "shared dense", dense, s->shared);
    shared(&s->forms[SEEN + 1], "shared vector", regular, s->shared);
    for (int i = 0; i < FORMS; i++) {
        int size = 0, sum = 0;
        OK(MPI_Type_commit(&s->forms[i].type));
        OK(MPI_Type_size(s->forms[i].type, &size));
        for (int j = 0; j < s->forms[i].pieces; j++) sum += s->forms[i].len[j];
        CHECK(size * s->forms[i].count == TOTAL && sum == TOTAL, "%s: %d, %d", s->forms[i].name, size, sum);
    }
}

static unsigned char value(int of, int round, int at) { return (unsigned char)((of * 31 + round * 7 + at * 3 + (at >> 8)) % 229); }

static void fill(const form *f, int round)
{
    for (int i = 0, at = 0; i < f->pieces; i++)
        for (int j = 0; j < f->len[i]; j++, at++) f->at[i][j] = (char)value(rank, round, at);
}

static void clear(int which)
{
    memset(in.heap, UNTOUCHED, 2 * ROOM);
    memset(in.shared, UNTOUCHED, ROOM);
    memset(of_static[which], UNTOUCHED, sizeof of_static[which]);
    memset(in.part_of_stack, UNTOUCHED, TOTAL / 4);
}

static int touched(const char *memory, size_t len)
{
    int count = 0;
    for (size_t i = 0; i < len; i++) count += (unsigned char)memory[i] != UNTOUCHED;
    return count;
}

/* The first `len` bytes have come, and nothing else was written: no value is that of untouched memory. */
static void look(const form *f, const char *source, int way, int round, int len)
{
    int wrong = 0, at = 0;
    for (int i = 0; i < f->pieces; i++)
        for (int j = 0; j < f->len[i] && at < len; j++, at++) wrong += (unsigned char)f->at[i][j] != value(from, round, at);
    int all = touched(in.heap, 2 * ROOM) + touched(in.shared, ROOM) + touched(of_static[1], sizeof of_static[1]) +
              touched(in.part_of_stack, TOTAL / 4);
    CHECK(wrong == 0 && all == len, "%s to %s, way %d: %d wrong, %d touched of %d", source, f->name, way, wrong, all, len);
}

static void probed(const form *b, int tag)
{
    MPI_Message message;
    MPI_Status status;
    int count;
    OK(MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == TOTAL, "%d", count);
    OK(MPI_Mrecv(b->base, b->count, b->type, &message, &status));
}

/* Twice, so that the second one finds the first one's region closed. */
static void persistent(const form *a, const form *b)
{
    MPI_Request requests[2];
    OK(MPI_Recv_init(b->base, b->count, b->type, from, 4, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Send_init(a->base, a->count, a->type, to, 4, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

enum { WAYS = 6 };

static void move(int way, const form *a, const form *b)
{
    MPI_Request requests[2];
    MPI_Status status;
    switch (way) {
    case 0: /* posted first */
        OK(MPI_Irecv(b->base, b->count, b->type, from, 0, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Isend(a->base, a->count, a->type, to, 0, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        break;
    case 1: /* there before its receive */
        OK(MPI_Isend(a->base, a->count, a->type, to, 1, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Recv(b->base, b->count, b->type, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 1);
        break;
    case 2: /* synchronous, and taken by a matched probe */
        OK(MPI_Issend(a->base, a->count, a->type, to, 2, MPI_COMM_WORLD, &requests[0]));
        probed(b, 2);
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        break;
    case 3:
        OK(MPI_Sendrecv(a->base, a->count, a->type, to, 3, b->base, b->count, b->type, from, 3, MPI_COMM_WORLD, &status));
        break;
    case 4:
        persistent(a, b);
        break;
    case 5: /* one after the other */
        for (int turn = 0; turn < 2; turn++)
            if (turn == rank % 2) OK(MPI_Send(a->base, a->count, a->type, to, 5, MPI_COMM_WORLD));
            else OK(MPI_Recv(b->base, b->count, b->type, from, 5, MPI_COMM_WORLD, &status));
        break;
    }
}

static void every_way(void)
{
    int round = 0;
    for (int a = 0; a < FORMS; a++)
        for (int b = 0; b < FORMS; b++)
            for (int way = (a + b) % 2; way < WAYS; way += 2, round++) {
                fill(&out.forms[a], round);
                clear(1);
                move(way, &out.forms[a], &in.forms[b]);
                look(&in.forms[b], out.forms[a].name, way, round, TOTAL);
            }
}

/* Data of a regular shape that the receiver sees is copied once into irregular blocks, too. */
static number seen(MPI_T_pvar_handle segments)
{
    number before = counted(segments);
    for (int a = SEEN; a < FORMS; a++)
        for (int b = 2; b < SEEN; b++) {
            fill(&out.forms[a], b);
            clear(1);
            move(1, &out.forms[a], &in.forms[b]);
            look(&in.forms[b], out.forms[a].name, 1, b, TOTAL);
        }
    return counted(segments) - before;
}

/* A message of one block of each pair and no more is shorter than its receive; and one that is longer. */
static void other_lengths(const form *a, const form *b)
{
    MPI_Request request;
    MPI_Status status;
    int elements;
    fill(a, 1);
    clear(1);
    OK(MPI_Isend(a->base, a->count, a->type, to, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in.heap, 2 * ROOM, MPI_BYTE, from, 6, MPI_COMM_WORLD, &status));
    OK(MPI_Get_elements(&status, MPI_BYTE, &elements));
    CHECK(elements == TOTAL, "%d", elements);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    form whole = {.name = "dense", .pieces = 1, .at = {in.heap}, .len = {TOTAL}};
    look(&whole, a->name, 6, 1, TOTAL);
    form half = {0};
    int len = 0;
    for (int i = 0; i < b->pieces / 2; i++, len += half.len[i - 1]) add(&half, b->at[i], b->len[i]);
    by_pieces(&half, "half", in.heap);
    OK(MPI_Type_commit(&half.type));
    clear(1);
    OK(MPI_Isend(a->base, a->count, a->type, to, 7, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_TRUNCATE, MPI_Recv(half.base, 1, half.type, from, 7, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    look(&half, a->name, 7, 1, len);
    OK(MPI_Type_free(&half.type));
}

/* More messages at a time than a process has regions; and as many that are taken back or given up. */
static void many(const form *a, const form *b)
{
    MPI_Request requests[MANY];
    MPI_Status status;
    int cancelled;
    for (int i = 0; i < MANY; i++) OK(MPI_Issend(a->base, a->count, a->type, to, 100 + i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < MANY; i++) OK(MPI_Cancel(&requests[i]));
    for (int i = 0; i < MANY; i++) {
        OK(MPI_Wait(&requests[i], &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled, "message %d", i);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    fill(a, 2);
    for (int i = 0; i < MANY; i++) {
        OK(MPI_Isend(a->base, a->count, a->type, to, 100 + i, MPI_COMM_WORLD, &requests[i]));
        if (i % 3 == 0) OK(MPI_Request_free(&requests[i]));
    }
    for (int i = MANY - 1; i >= 0; i--) {
        clear(1);
        OK(MPI_Recv(b->base, b->count, b->type, from, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        look(b, a->name, 8, 2, TOTAL);
    }
    OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    char of_stack[2][TOTAL / 4];
    begin(&argc, &argv);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    MPI_T_pvar_handle segments = counter("segments"), module = counter_of("module_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle failed = counter("kernel_failed");
    prepare(&out, 0, of_stack[0]);
    prepare(&in, 1, of_stack[1]);
    every_way();
    number ways = counted(segments);
    other_lengths(&out.forms[2], &in.forms[3]);
    other_lengths(&out.forms[6], &in.forms[2]);
    many(&out.forms[4], &in.forms[2]);
    number all = counted(segments) - ways, regular_ones = seen(segments);
    const char *asked = getenv("TERN_MECHANISM");
    int by_kernel = !asked || !strcmp(asked, "auto") || !strcmp(asked, "cma") || !strcmp(asked, "module");
    if (by_kernel && counted(failed) == 0) {
        // Where both ways are tried, packets are presumed for private memory.
        int tried = !asked || !strcmp(asked, "auto");
        CHECK(ways >= (tried ? 1 : 6 * FORMS * WAYS / 2), "%llu by regions", ways);
        CHECK(tried || all >= 4 + 20, "%llu by regions", all);
    }
    if (asked && !strcmp(asked, "module") && counted(module) > 0) CHECK(counted(module) >= ways / 2 * TOTAL);
    if (asked && !strcmp(asked, "pipe")) CHECK(ways + all + regular_ones == 0);
    else if (!by_kernel || !asked || !strcmp(asked, "auto") || counted(failed) == 0)
        CHECK(regular_ones == 2 * (SEEN - 2), "%llu by segments", regular_ones);
    end_counting();
    for (int i = 0; i < FORMS; i++) {
        OK(MPI_Type_free(&out.forms[i].type));
        OK(MPI_Type_free(&in.forms[i].type));
    }
    free(out.heap);
    free(in.heap);
    OK(MPI_Free_mem(out.shared));
    OK(MPI_Free_mem(in.shared));
    return finish();
}
