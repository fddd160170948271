// ranks: 1 2 3 4 5
// timeout: 120
// Collective access in all its forms, with random views, types, counts, hints and ranks, beside a copy
// of the file that is kept by hand. Every rank computes what every rank does, so that all know the file.
#include "file.h"

enum { BYTES = 1 << 17, RUNS = 12, MOST = 6000 };
static MPI_File file;
static unsigned char model[BYTES], found[BYTES];
static long long length;

/* The forms. */
enum { ALL, AT_ALL, IALL, IAT_ALL, SPLIT, AT_SPLIT, FORMS };

static void access_form(int write, int form, int large, MPI_Offset at, void *buf, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (form == ALL || form == IALL || form == SPLIT) OK(MPI_File_seek(file, at, MPI_SEEK_SET));
#define CALL(Name, ...) OK(large ? MPI_File_##Name##_c(__VA_ARGS__) : MPI_File_##Name(__VA_ARGS__))
    switch (2 * form + write) {
    case 2 * ALL: CALL(read_all, file, buf, count, type, status); break;
    case 2 * ALL + 1: CALL(write_all, file, buf, count, type, status); break;
    case 2 * AT_ALL: CALL(read_at_all, file, at, buf, count, type, status); break;
    case 2 * AT_ALL + 1: CALL(write_at_all, file, at, buf, count, type, status); break;
    case 2 * IALL: CALL(iread_all, file, buf, count, type, &request); break;
    case 2 * IALL + 1: CALL(iwrite_all, file, buf, count, type, &request); break;
    case 2 * IAT_ALL: CALL(iread_at_all, file, at, buf, count, type, &request); break;
    case 2 * IAT_ALL + 1: CALL(iwrite_at_all, file, at, buf, count, type, &request); break;
    case 2 * SPLIT: CALL(read_all_begin, file, buf, count, type); break;
    case 2 * SPLIT + 1: CALL(write_all_begin, file, buf, count, type); break;
    case 2 * AT_SPLIT: CALL(read_at_all_begin, file, at, buf, count, type); break;
    case 2 * AT_SPLIT + 1: CALL(write_at_all_begin, file, at, buf, count, type); break;
    }
    if (form == IALL || form == IAT_ALL) OK(MPI_Wait(&request, status));
    if (form == SPLIT) OK(write ? MPI_File_write_all_end(file, buf, status) : MPI_File_read_all_end(file, buf, status));
    if (form == AT_SPLIT)
        OK(write ? MPI_File_write_at_all_end(file, buf, status) : MPI_File_read_at_all_end(file, buf, status));
}

/* What rank `r` does in a round: its view, its place, its amount. */
struct part {
    int blocks, lengths[RUNS], displacements[RUNS], tile, disp, at, units;
};

/* Slots of the tile go to the ranks at random, so that no two write the same byte. */
static void plan(unsigned *state, int unit, struct part *parts)
{
    int at = 0;
    for (int r = 0; r < size; r++) parts[r].blocks = 0;
    for (int slot = 0; slot < RUNS; slot++) {
        int r = next_random(state) % size, len = 1 + next_random(state) % 40;
        struct part *part = &parts[r];
        part->lengths[part->blocks] = len;
        part->displacements[part->blocks++] = at;
        at += len + (next_random(state) % 3 ? 0 : next_random(state) % 20);
    }
    int disp = next_random(state) % 50, tile = at + next_random(state) % 30;
    for (int r = 0; r < size; r++) {
        struct part *part = &parts[r];
        part->tile = tile;
        part->disp = disp;
        int each = 0;
        for (int i = 0; i < part->blocks; i++) each += part->lengths[i];
        part->at = next_random(state) % 200;
        part->units = next_random(state) % 5 ? next_random(state) % (MOST / unit) : 0;
        if (!each) part->units = 0;
        while (part->units && ((part->at + part->units) / each + 1) * tile * unit + disp >= BYTES) part->units /= 2;
    }
}

/* Byte of the file for byte `i` of a part's data. */
static long long place(const struct part *part, int unit, int i)
{
    int each = 0, at;
    for (int b = 0; b < part->blocks; b++) each += part->lengths[b];
    long long element = part->at + i / unit;
    at = element % each;
    int b = 0;
    for (; at >= part->lengths[b]; b++) at -= part->lengths[b];
    return part->disp + (element / each * part->tile + part->displacements[b] + at) * unit + i % unit;
}

static void one_round(int round)
{
    static unsigned char mine[2 * MOST + 8], back[2 * MOST + 8];
    struct part parts[8];
    unsigned state = 4711 + round;
    int unit = 1 << next_random(&state) % 4;
    plan(&state, unit, parts);
    const struct part *own = &parts[rank];
    const char *const wishes[] = {"enable", "automatic", "disable"};
    const char *const buffers[] = {"4096", "10000", "16777216"};
    char nodes[8];
    MPI_Info info;
    MPI_Datatype etype, runs, type, memory;
    MPI_Status status;
    int count, form = round % FORMS, large = round / FORMS % 2;
    OK(MPI_Info_create(&info));
    snprintf(nodes, sizeof nodes, "%d", 1 + round / 2 % size);
    OK(MPI_Info_set(info, "romio_cb_write", wishes[next_random(&state) % 10 / 4 % 3]));
    OK(MPI_Info_set(info, "romio_cb_read", wishes[next_random(&state) % 10 / 4 % 3]));
    OK(MPI_Info_set(info, "cb_buffer_size", buffers[next_random(&state) % 3]));
    OK(MPI_Info_set(info, "cb_nodes", nodes));
    OK(MPI_Type_contiguous(unit, MPI_BYTE, &etype));
    OK(MPI_Type_commit(&etype));
    if (own->blocks) {
        OK(MPI_Type_indexed(own->blocks, own->lengths, own->displacements, etype, &runs));
    } else {
        OK(MPI_Type_dup(etype, &runs));
    }
    OK(MPI_Type_create_resized(runs, 0, own->tile * unit, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_File_set_view(file, own->disp, etype, type, "native", info));
    /* In memory every second element, or all. */
    int step = 1 + next_random(&state) % 2;
    OK(MPI_Type_create_resized(etype, 0, step * unit, &memory));
    OK(MPI_Type_commit(&memory));
    /* What everybody writes follows from the round. */
    for (int r = 0; r < size; r++)
        for (int i = 0; i < parts[r].units * unit; i++) {
            long long at = place(&parts[r], unit, i);
            model[at] = (unsigned char)(round * 31 + r * 7 + i * 13);
            if (at >= length) length = at + 1;
        }
    memset(mine, 0xee, sizeof mine);
    for (int i = 0; i < own->units * unit; i++)
        mine[i / unit * unit * step + i % unit] = (unsigned char)(round * 31 + rank * 7 + i * 13);
    access_form(1, form, large, own->at, mine, own->units, memory, &status);
    OK(MPI_Get_count(&status, etype, &count));
    CHECK(count == own->units, "round %d: %d of %d written", round, count, own->units);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(length_of(name) == length, "round %d: %lld bytes, not %lld", round, length_of(name), length);
    memset(found, 0, sizeof found);
    look(name, found, sizeof found);
    int bad = 0;
    for (int i = 0; i < BYTES; i++) bad += found[i] != model[i];
    CHECK(bad == 0, "round %d, form %d: %d bytes of the file", round, form, bad);
    /* Back, and further than the file reaches. */
    int units = own->units + (own->blocks ? next_random(&state) % 100 : 0), there = 0;
    if (units * unit * step > (int)sizeof back) units = own->units;
    memset(back, 0xdd, sizeof back);
    access_form(0, form, !large, own->at, back, units, memory, &status);
    MPI_Count elements;
    OK(MPI_Get_elements_c(&status, MPI_BYTE, &elements));
    bad = 0;
    int whole = 0;
    for (int i = 0; i < units * unit; i++) {
        long long at = place(own, unit, i);
        if (at < length && there == i) there = i + 1;
        unsigned char wanted = at < length ? model[at] : 0xdd;
        whole += back[i / unit * unit * step + i % unit] != wanted;
    }
    CHECK(whole == 0, "round %d, form %d: %d bytes read of %d", round, form, whole, units * unit);
    CHECK(elements == there, "round %d: %lld bytes, not %d", round, (long long)elements, there);
    if (step == 2)
        for (int i = 0; i < units; i++) bad += back[i * unit * 2 + unit] != 0xdd;
    CHECK(bad == 0, "round %d: holes in memory were written", round);
    MPI_Offset position;
    OK(MPI_File_get_position(file, &position));
    CHECK(position == (form == ALL || form == IALL || form == SPLIT ? own->at + units : 0));
    OK(MPI_Type_free(&memory));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&runs));
    OK(MPI_Type_free(&etype));
    OK(MPI_Info_free(&info));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Several at once, with messages of the program between, and completed in another order. */
static void mixed(void)
{
    enum { N = 2000, MANY = 4 };
    static int out[MANY][N], in[MANY][N];
    MPI_Request requests[2 * MANY];
    MPI_Datatype every;
    OK(MPI_Type_create_resized(MPI_INT, 0, size * sizeof(int), &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_File_set_view(file, rank * sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL));
    for (int i = 0; i < MANY; i++) {
        for (int j = 0; j < N; j++) out[i][j] = rank * 1000000 + i * 10000 + j;
        OK(MPI_File_iwrite_at_all(file, i * N, out[i], N, MPI_INT, &requests[i]));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[MANY + i]));
    }
    OK(MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < MANY; i++) OK(MPI_File_iread_at_all(file, i * N, in[i], N, MPI_INT, &requests[i]));
    for (int left = MANY; left > 0; left--) {
        int index;
        OK(MPI_Waitany(MANY, requests, &index, MPI_STATUS_IGNORE));
        CHECK(!memcmp(in[index], out[index], sizeof in[index]));
    }
    /* The first rank comes late: that must not hold up the start at the others. */
    if (rank == 0 && size > 1) OK(MPI_Recv(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_File_iread_all(file, in[0], N, MPI_INT, &requests[0]));
    if (rank == 1) OK(MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(!memcmp(in[0], out[0], sizeof in[0]));
    OK(MPI_Type_free(&every));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void refused(void)
{
    static int word[64];
    MPI_Status status;
    MPI_Request request;
    int count;
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    /* Split collectives: one at a time, ended by the call that belongs to it. */
    FAILS(MPI_ERR_IO, MPI_File_read_all_end(file, word, &status));
    FAILS(MPI_ERR_IO, MPI_File_write_ordered_end(file, word, &status));
    OK(MPI_File_write_at_all_begin(file, rank, word, 1, MPI_INT));
    FAILS(MPI_ERR_IO, MPI_File_write_at_all_begin(file, rank, word, 1, MPI_INT));
    FAILS(MPI_ERR_IO, MPI_File_read_all_begin(file, word, 1, MPI_INT));
    FAILS(MPI_ERR_IO, MPI_File_read_ordered_begin(file, word, 1, MPI_INT));
    if (strict()) {
        FAILS(MPI_ERR_IO, MPI_File_write_all_end(file, word, &status));
        FAILS(MPI_ERR_BUFFER, MPI_File_write_at_all_end(file, word + 1, &status));
        MPI_File same = file;
        FAILS(MPI_ERR_FILE_IN_USE, MPI_File_close(&same));
        CHECK(same == file);
    }
    OK(MPI_File_write_at_all_end(file, word, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 1);
    FAILS(MPI_ERR_IO, MPI_File_write_at_all_end(file, word, &status));
    if (!strict())
        return;
    /* What is wrong at one rank only does not stop the others. */
    int last = rank == size - 1;
    for (int enable = 0; enable < 2; enable++) {
        MPI_Info info;
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "romio_cb_write", enable ? "enable" : "disable"));
        OK(MPI_Info_set(info, "romio_cb_read", enable ? "enable" : "automatic"));
        OK(MPI_File_set_info(file, info));
        OK(MPI_Info_free(&info));
        if (last) FAILS(MPI_ERR_BUFFER, MPI_File_write_at_all(file, rank, (void *)64, 1, MPI_INT, &status));
        else OK(MPI_File_write_at_all(file, rank, word, 1, MPI_INT, &status));
        if (last) FAILS(MPI_ERR_ARG, MPI_File_read_at_all(file, -1, word, 1, MPI_INT, &status));
        else OK(MPI_File_read_at_all(file, rank, word, 1, MPI_INT, &status));
        if (last) FAILS(MPI_ERR_TYPE, MPI_File_iread_at_all(file, 0, word, 3, MPI_CHAR, &request));
        else OK(MPI_File_iread_at_all(file, rank, word, 1, MPI_INT, &request));
        if (!last) OK(MPI_Wait(&request, &status));
        if (last) FAILS(MPI_ERR_TYPE, MPI_File_read_at_all_begin(file, 0, word, 3, MPI_CHAR));
        else OK(MPI_File_read_at_all_begin(file, rank, word, 1, MPI_INT));
        if (!last) OK(MPI_File_read_at_all_end(file, word, &status));
    }
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    for (int round = 0; round < 60; round++) one_round(round);
    mixed();
    refused();
    OK(MPI_File_close(&file));
    return finish();
}
