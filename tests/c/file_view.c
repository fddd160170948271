// ranks: 1 2 3 4
// Views: their arguments, what they give back, where offsets lie, and access through holes, compared
// to a copy of the file that is kept by hand.
#include "file.h"

enum { BYTES = 1 << 16 };
static MPI_File file;
static unsigned char model[BYTES], found[BYTES];

static void arguments(void)
{
    MPI_Datatype three, loose, odd, back, e, f;
    MPI_Offset disp, at;
    MPI_Count extent;
    MPI_Aint small;
    char datarep[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(file, &disp, &e, &f, datarep));
    CHECK(disp == 0 && e == MPI_BYTE && f == MPI_BYTE && !strcmp(datarep, "native"));
    /* Two ints of every five. */
    OK(MPI_Type_contiguous(2, MPI_INT, &three));
    OK(MPI_Type_create_resized(three, 0, 5 * sizeof(int), &loose));
    OK(MPI_Type_commit(&loose));
    OK(MPI_File_set_view(file, 12, MPI_INT, loose, "native", MPI_INFO_NULL));
    OK(MPI_File_get_view(file, &disp, &e, &f, datarep));
    CHECK(disp == 12 && e == MPI_INT && f != MPI_DATATYPE_NULL);
    OK(MPI_Type_get_extent(f, &at, &small));
    CHECK(at == 0 && small == 20);
    OK(MPI_Type_free(&f));
    OK(MPI_File_get_byte_offset(file, 0, &at));
    CHECK(at == 12);
    OK(MPI_File_get_byte_offset(file, 3, &at));
    CHECK(at == 12 + 20 + 4);
    OK(MPI_File_get_type_extent(file, loose, &small));
    CHECK(small == 20);
    OK(MPI_File_get_type_extent_c(file, MPI_DOUBLE, &extent));
    CHECK(extent == 8);
    if (strict()) {
        OK(MPI_Type_contiguous(3, MPI_CHAR, &odd));
        OK(MPI_Type_commit(&odd));
        int lengths[2] = {1, 1}, displacements[2] = {4, 0};
        OK(MPI_Type_indexed(2, lengths, displacements, MPI_INT, &back));
        OK(MPI_Type_commit(&back));
        FAILS(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_INT, odd, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_ARG, MPI_File_set_view(file, -8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_ARG, MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_UNSUPPORTED_DATAREP, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "martian", MPI_INFO_NULL));
        FAILS(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_INT, three, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_INFO_NULL));
        int code = MPI_File_set_view(file, 0, MPI_INT, back, "native", MPI_INFO_NULL);
        CHECK(code != MPI_SUCCESS, "a filetype that goes back is none");
        if (size > 1) {
            MPI_Datatype mine = rank ? MPI_INT : MPI_DOUBLE;
            FAILS(MPI_ERR_NOT_SAME, MPI_File_set_view(file, 0, mine, mine, "native", MPI_INFO_NULL));
            FAILS(MPI_ERR_NOT_SAME, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, rank ? "native" : "internal", MPI_INFO_NULL));
            FAILS(MPI_ERR_ARG, MPI_File_set_view(file, rank == 1 ? -8 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        }
        /* A view that was refused changes nothing. */
        OK(MPI_File_get_byte_offset(file, 3, &at));
        CHECK(at == 12 + 20 + 4);
        OK(MPI_Type_free(&odd));
        OK(MPI_Type_free(&back));
    }
    /* The file keeps the types. */
    OK(MPI_Type_free(&three));
    OK(MPI_Type_free(&loose));
    OK(MPI_File_get_byte_offset(file, 4, &at));
    CHECK(at == 12 + 40);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

/* A filetype of `blocks` random runs, and its map: the byte of the file for each of its bytes. */
static MPI_Datatype random_type(unsigned *state, int unit, int *map, int *bytes, int *extent)
{
    int lengths[20], displacements[20], blocks = 1 + next_random(state) % 20, at = next_random(state) % 3;
    *bytes = 0;
    for (int i = 0; i < blocks; i++) {
        lengths[i] = 1 + next_random(state) % 9;
        displacements[i] = at;
        for (int byte = 0; byte < lengths[i] * unit; byte++) map[(*bytes)++] = at * unit + byte;
        at += lengths[i] + next_random(state) % 6;
    }
    at += next_random(state) % 8;
    *extent = at * unit;
    MPI_Datatype base, type, sized;
    OK(MPI_Type_contiguous(unit, MPI_BYTE, &base));
    OK(MPI_Type_indexed(blocks, lengths, displacements, base, &type));
    OK(MPI_Type_create_resized(type, 0, *extent, &sized));
    OK(MPI_Type_commit(&sized));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&base));
    return sized;
}

/* Every rank has its own part of the file, and its own view of it. */
static void model_of_mine(int round)
{
    enum { PART = BYTES / 4, DATA = 3000 };
    unsigned state = 77 + 1000 * rank + round;
    static unsigned char data[DATA], back[DATA];
    int map[2000], bytes, extent, unit = 1 << round % 3;
    MPI_Datatype type = random_type(&state, unit, map, &bytes, &extent), etype;
    MPI_Status status;
    int count, disp = rank * PART + next_random(&state) % 100;
    const char *const wishes[] = {"automatic", "enable", "disable"};
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_ds_write", wishes[round % 3]));
    OK(MPI_Info_set(info, "romio_ds_read", wishes[round / 3 % 3]));
    OK(MPI_Info_set(info, "ind_wr_buffer_size", round % 2 ? "100" : "65536"));
    OK(MPI_Info_set(info, "ind_rd_buffer_size", round % 2 ? "77" : "65536"));
    OK(MPI_Type_contiguous(1 << round % 3, MPI_BYTE, &etype));
    OK(MPI_Type_commit(&etype));
    OK(MPI_File_set_view(file, disp, etype, type, round % 5 ? "native" : "internal", info));
    OK(MPI_Info_free(&info));
    for (int access = 0; access < 4; access++) {
        int from = next_random(&state) % (bytes / unit), units = next_random(&state) % 200;
        /* Keep inside our own part. */
        while (units && ((from + units) * unit / bytes + 1) * extent + 100 >= PART) units /= 2;
        for (int i = 0; i < units * unit; i++) {
            int byte = from * unit + i;
            data[i] = next_random(&state);
            model[disp + byte / bytes * extent + map[byte % bytes]] = data[i];
        }
        if (access % 2) {
            OK(MPI_File_write_at(file, from, data, units, etype, &status));
        } else {
            OK(MPI_File_seek(file, from, MPI_SEEK_SET));
            OK(MPI_File_write(file, data, units, etype, &status));
        }
        OK(MPI_Get_count(&status, etype, &count));
        CHECK(count == units, "round %d: %d of %d", round, count, units);
        memset(back, 0, sizeof back);
        OK(MPI_File_read_at(file, from, back, units, etype, &status));
        OK(MPI_Get_count(&status, etype, &count));
        CHECK(count == units && !memcmp(back, data, units * unit), "round %d", round);
    }
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&etype));
    MPI_Barrier(MPI_COMM_WORLD);
    memset(found, 0, sizeof found);
    look(name, found, sizeof found);
    CHECK(!memcmp(found + rank * PART, model + rank * PART, PART), "round %d", round);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A filetype for one access: the head of the file, and a subarray behind it. The subarray says its bounds itself, so
 * the whole has the extent of the subarray, less than its span; only the first tile is used. */
static void head_and_subarray(int gap)
{
    enum { HEAD = 300, ROWS = 2, COLUMNS = 6 };
    int sizes[2] = {ROWS, COLUMNS * size}, mine[2] = {ROWS, COLUMNS}, start[2] = {0, COLUMNS * rank};
    int lengths[2] = {rank ? 0 : HEAD, 1}, values[HEAD / 4 + ROWS * COLUMNS], back[HEAD / 4 + ROWS * COLUMNS];
    int data = (rank ? 0 : HEAD / 4) + ROWS * COLUMNS;
    MPI_Aint places[2] = {0, HEAD + gap};
    MPI_Datatype parts[2] = {MPI_BYTE, MPI_DATATYPE_NULL}, type;
    OK(MPI_Type_create_subarray(2, sizes, mine, start, MPI_ORDER_C, MPI_INT, &parts[1]));
    OK(MPI_Type_create_struct(2, lengths, places, parts, &type));
    OK(MPI_Type_commit(&type));
    for (int collective = 0; collective < 2; collective++) {
        OK(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
        for (int i = 0; i < data; i++) values[i] = 1000 * rank + 100 * collective + i;
        memset(back, 0, sizeof back);
        MPI_Barrier(MPI_COMM_WORLD);
        OK((collective ? MPI_File_write_at_all : MPI_File_write_at)(file, 0, values, data, MPI_INT, MPI_STATUS_IGNORE));
        OK((collective ? MPI_File_read_at_all : MPI_File_read_at)(file, 0, back, data, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(!memcmp(values, back, data * sizeof(int)), "gap %d", gap);
        OK(MPI_File_sync(file));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_File_sync(file));
        OK(MPI_File_set_view(file, HEAD + gap, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        for (int at = 0; at < ROWS * COLUMNS * size; at++) {
            int owner = at / COLUMNS % size, within = at / (COLUMNS * size) * COLUMNS + at % COLUMNS, found;
            OK(MPI_File_read_at(file, at, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
            int want = 1000 * owner + 100 * collective + (owner ? 0 : HEAD / 4) + within;
            CHECK(found == want, "gap %d: %d is %d, not %d", gap, at, found, want);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&parts[1]));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    arguments();
    for (int round = 0; round < 45; round++) model_of_mine(round);
    head_and_subarray(0);
    head_and_subarray(20);
    OK(MPI_File_close(&file));
    return finish();
}
