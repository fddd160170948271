// ranks: 1 2
// timeout: 120
// Views with filetypes of every constructor, and of every one over every other, compared to a list of
// where each int belongs: written by each way, also in external32 and in atomic mode, and read back.
#include "file.h"

enum { INTS = 512, WORDS = 1 << 15, CONSTRUCTORS = 14 };

/* Where the ints of a type lie, in bytes, in order, and its bounds. */
struct map {
    int n;
    long at[INTS], lb, ub;
};

static MPI_File file;
static unsigned model[WORDS], found[WORDS];

/* `count` copies of `child` at `places`, in bytes. */
static struct map copies(const struct map *child, int count, const long *places)
{
    static struct map all;
    all = (struct map){.lb = child->lb + places[0], .ub = child->ub + places[0]};
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < child->n; j++) all.at[all.n++] = places[i] + child->at[j];
        if (child->lb + places[i] < all.lb) all.lb = child->lb + places[i];
        if (child->ub + places[i] > all.ub) all.ub = child->ub + places[i];
    }
    return all;
}

/* Every constructor over `child`, with gaps, in increasing order. */
static MPI_Datatype build(int which, MPI_Datatype child, struct map *map)
{
    long e = map->ub - map->lb, places[16];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int n = 0;
    const int lengths[3] = {1, 2, 1}, steps[3] = {0, 2, 5}, starts[3] = {1, 3, 4};
    const MPI_Aint bytes[3] = {4, 2 * e + 12, 5 * e + 12};
    switch (which) {
    case 0:
        OK(MPI_Type_dup(child, &type));
        places[n++] = 0;
        break;
    case 1:
        OK(MPI_Type_contiguous(3, child, &type));
        for (; n < 3; n++) places[n] = n * e;
        break;
    case 2:
        OK(MPI_Type_vector(2, 2, 3, child, &type));
        for (; n < 4; n++) places[n] = (n / 2 * 3 + n % 2) * e;
        break;
    case 3:
        OK(MPI_Type_create_hvector(2, 2, 2 * e + 8, child, &type));
        for (; n < 4; n++) places[n] = n / 2 * (2 * e + 8) + n % 2 * e;
        break;
    case 4:
        OK(MPI_Type_indexed(3, lengths, steps, child, &type));
        places[n++] = 0, places[n++] = 2 * e, places[n++] = 3 * e, places[n++] = 5 * e;
        break;
    case 5:
        OK(MPI_Type_create_hindexed(3, lengths, bytes, child, &type));
        places[n++] = 4, places[n++] = bytes[1], places[n++] = bytes[1] + e, places[n++] = bytes[2];
        break;
    case 6:
        OK(MPI_Type_create_indexed_block(3, 1, starts, child, &type));
        for (; n < 3; n++) places[n] = starts[n] * e;
        break;
    case 7:
        OK(MPI_Type_create_hindexed_block(3, 1, bytes, child, &type));
        for (; n < 3; n++) places[n] = bytes[n];
        break;
    case 8: {
        MPI_Datatype children[3] = {child, child, child};
        OK(MPI_Type_create_struct(3, lengths, bytes, children, &type));
        places[n++] = 4, places[n++] = bytes[1], places[n++] = bytes[1] + e, places[n++] = bytes[2];
        break;
    }
    case 9:
        OK(MPI_Type_create_resized(child, 0, map->ub + 8, &type));
        map->lb = 0;
        map->ub += 8;
        return type;
    case 10: case 11: {
        /* 2 x 2 of 3 x 4. */
        const int sizes[2] = {3, 4}, subsizes[2] = {2, 2}, first[2] = {1, 1};
        int c = which == 10;
        OK(MPI_Type_create_subarray(2, sizes, subsizes, first, c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child, &type));
        for (; n < 4; n++) places[n] = ((1 + n / 2) * (c ? 4 : 3) + 1 + n % 2) * e;
        break;
    }
    case 12: case 13: {
        /* 7 in blocks of 2 dealt to 2, the second one; 7 in blocks, the second half. */
        const int sizes[1] = {7}, processes[1] = {2};
        int distribution[1] = {which == 12 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK};
        int block[1] = {which == 12 ? 2 : MPI_DISTRIBUTE_DFLT_DARG};
        OK(MPI_Type_create_darray(2, 1, 1, sizes, distribution, block, processes, MPI_ORDER_C, child, &type));
        static const int cyclic[3] = {2, 3, 6}, half[3] = {4, 5, 6};
        for (; n < 3; n++) places[n] = (which == 12 ? cyclic : half)[n] * e;
        break;
    }
    }
    struct map made = copies(map, n, places);
    if (which >= 10) made.lb = 0, made.ub = (which < 12 ? 12 : 7) * e;
    *map = made;
    return type;
}

static unsigned swapped(unsigned value)
{
    return value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
}

/* The ways to access: hints, representation, atomic mode. */
static const struct {
    const char *sieving, *buffer, *datarep;
    int atomic;
} ways[] = {
    {"automatic", "524288", "native", 0},
    {"enable", "52", "native", 0},
    {"disable", "524288", "internal", 0},
    {"automatic", "524288", "external32", 0},
    {"enable", "1000", "native", 1},
};

static void access_by(int way, MPI_Datatype type, const struct map *map, unsigned *state, const char *label)
{
    enum { MOST = 120 };
    const long part = WORDS / 2 * 4L, extent = map->ub - map->lb;
    static int data[2 * MOST], back[2 * MOST];
    long disp = rank * part + 4 * (next_random(state) % 50);
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_ds_write", ways[way].sieving));
    OK(MPI_Info_set(info, "romio_ds_read", ways[way].sieving));
    OK(MPI_Info_set(info, "ind_wr_buffer_size", ways[way].buffer));
    OK(MPI_Info_set(info, "ind_rd_buffer_size", ways[way].buffer));
    OK(MPI_File_set_view(file, disp, MPI_INT, type, ways[way].datarep, info));
    OK(MPI_File_set_atomicity(file, ways[way].atomic));
    OK(MPI_Info_free(&info));
    int from = next_random(state) % 30, count = 1 + next_random(state) % MOST, strided = next_random(state) % 2;
    while (count > 1 && ((from + count) / map->n + 1) * extent + map->ub + 300 > part) count /= 2;
    /* In memory, one after the other, or every second. */
    MPI_Datatype memory;
    OK(MPI_Type_create_resized(MPI_INT, 0, (strided ? 2 : 1) * sizeof(int), &memory));
    OK(MPI_Type_commit(&memory));
    for (int i = 0; i < 2 * MOST; i++) data[i] = (int)(next_random(state) << 8 ^ next_random(state));
    for (int i = 0; i < count; i++) {
        long at = disp + (from + i) / map->n * extent + map->at[(from + i) % map->n];
        unsigned value = (unsigned)data[i * (1 + strided)];
        model[at / 4] = strcmp(ways[way].datarep, "external32") ? value : swapped(value);
        MPI_Offset byte;
        OK(MPI_File_get_byte_offset(file, from + i, &byte));
        CHECK(byte == at, "%s: int %d is at %lld, not %ld", label, from + i, (long long)byte, at);
    }
    MPI_Status status;
    int got;
    OK(MPI_File_write_at(file, from, data, count, memory, &status));
    OK(MPI_Get_count(&status, memory, &got));
    CHECK(got == count, "%s: wrote %d of %d", label, got, count);
    memset(back, 0, sizeof back);
    OK(MPI_File_read_at(file, from, back, count, memory, &status));
    OK(MPI_Get_count(&status, memory, &got));
    CHECK(got == count, "%s: read %d of %d", label, got, count);
    for (int i = 0; i < 2 * MOST; i++) {
        int used = i < count * (1 + strided) && (!strided || i % 2 == 0);
        if (back[i] != (used ? data[i] : 0)) {
            CHECK(0, "%s, way %d: int %d", label, way, i);
            break;
        }
    }
    OK(MPI_Type_free(&memory));
}

static void compare(const char *label)
{
    const int part = WORDS / 2;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    memset(found, 0, sizeof found);
    look(name, found, sizeof found);
    CHECK(!memcmp(found + rank * part, model + rank * part, part * sizeof *model), "%s: the file differs", label);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    unsigned state = 5 + rank;
    for (int inner = 0; inner < CONSTRUCTORS; inner++) {
        for (int outer = 0; outer < CONSTRUCTORS; outer++) {
            struct map map = {.n = 1, .at = {0}, .lb = 0, .ub = 4};
            char label[64];
            snprintf(label, sizeof label, "constructor %d over %d", outer, inner);
            MPI_Datatype child = build(inner, MPI_INT, &map), type = build(outer, child, &map);
            OK(MPI_Type_commit(&type));
            MPI_Aint lb, extent;
            OK(MPI_Type_get_extent(type, &lb, &extent));
            CHECK(lb == map.lb && extent == map.ub - map.lb, "%s", label);
            for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) access_by(way, type, &map, &state, label);
            compare(label);
            OK(MPI_Type_free(&child));
            OK(MPI_Type_free(&type));
        }
    }
    OK(MPI_File_close(&file));
    return finish();
}
