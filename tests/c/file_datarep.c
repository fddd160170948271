// ranks: 1 2 4
// Data representations: external32 byte by byte, and the program's own, whose functions may fail.
#include "file.h"

enum { N = 100 };
static MPI_File file;

static void reopen(void)
{
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
}

/* Each rank has every size-th element, collectively or by itself. */
static void interleaved(const char *datarep, int collective, void *out, void *in, MPI_Datatype type, int bytes, MPI_Aint outside)
{
    MPI_Datatype every;
    MPI_Status status;
    MPI_Aint extent;
    int count;
    OK(MPI_File_set_view(file, 0, type, type, datarep, MPI_INFO_NULL));
    OK(MPI_File_get_type_extent(file, type, &extent));
    CHECK(extent == outside, "%s: %ld, not %ld", datarep, (long)extent, (long)outside);
    OK(MPI_Type_vector(1, 1, 1, type, &every));
    MPI_Datatype sized;
    OK(MPI_Type_create_resized(every, 0, size * extent, &sized));
    OK(MPI_Type_commit(&sized));
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", collective ? "enable" : "disable"));
    OK(MPI_Info_set(info, "romio_cb_read", collective ? "enable" : "disable"));
    OK(MPI_File_set_view(file, rank * extent, type, sized, datarep, info));
    OK(MPI_Info_free(&info));
    OK(MPI_File_write_all(file, out, N, type, &status));
    OK(MPI_Get_count(&status, type, &count));
    CHECK(count == N);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(length_of(name) == (long long)outside * N * size, "%lld bytes", length_of(name));
    memset(in, 0, N * bytes);
    OK(MPI_File_read_at_all(file, 0, in, N, type, &status));
    OK(MPI_Get_count(&status, type, &count));
    CHECK(count == N && !memcmp(in, out, N * bytes), "%s, %d bytes, collective %d", datarep, bytes, collective);
    memset(in, 0, N * bytes);
    OK(MPI_File_read_at(file, 10, in, N, type, &status));
    OK(MPI_Get_count(&status, type, &count));
    CHECK(count == N - 10 && !memcmp(in, (char *)out + 10 * bytes, (N - 10) * bytes));
    OK(MPI_Type_free(&sized));
    OK(MPI_Type_free(&every));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void external32(int collective)
{
    static int ints[N], ints_back[N];
    static long longs[N], longs_back[N];
    static unsigned char raw[8 * N * 8];
    for (int i = 0; i < N; i++) {
        ints[i] = 0x01020304 + rank * 0x01000000 + i;
        longs[i] = -5 - i * 100 - rank;
    }
    reopen();
    interleaved("external32", collective, ints, ints_back, MPI_INT, sizeof(int), 4);
    CHECK(look(name, raw, sizeof raw) == 4 * N * size);
    int bad = 0;
    for (int i = 0; i < N; i++) {
        const unsigned char *at = raw + 4 * (i * size + rank);
        bad += (at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]) != ints[i];
    }
    CHECK(bad == 0);
    OK(MPI_File_close(&file));
    reopen();
    /* MPI_LONG has 4 bytes there. */
    interleaved("external32", collective, longs, longs_back, MPI_LONG, sizeof(long), 4);
    OK(MPI_File_close(&file));
}

/* The program's own: an int is three bytes, the lowest first, each inverted. */
static int extents, fail_read, fail_write, state = 4711;

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    extents++;
    CHECK(extra == &state && type == MPI_INT);
    *extent = 3;
    return MPI_SUCCESS;
}

static void convert_in(int *user, MPI_Count count, const unsigned char *bytes, MPI_Offset position)
{
    for (MPI_Count i = 0; i < count; i++) {
        const unsigned char *at = bytes + 3 * i;
        user[position + i] = (at[0] ^ 255) | (at[1] ^ 255) << 8 | (at[2] ^ 255) << 16;
    }
}

static void convert_out(const int *user, MPI_Count count, unsigned char *bytes, MPI_Offset position)
{
    for (MPI_Count i = 0; i < count; i++)
        for (int byte = 0; byte < 3; byte++) bytes[3 * i + byte] = 255 ^ (user[position + i] >> 8 * byte & 255);
}

static int read_int(void *user, MPI_Datatype type, int count, void *bytes, MPI_Offset position, void *extra)
{
    CHECK(extra == &state && type == MPI_INT);
    convert_in(user, count, bytes, position);
    return fail_read ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int write_int(void *user, MPI_Datatype type, int count, void *bytes, MPI_Offset position, void *extra)
{
    CHECK(extra == &state && type == MPI_INT);
    convert_out(user, count, bytes, position);
    return fail_write ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int read_large(void *user, MPI_Datatype type, MPI_Count count, void *bytes, MPI_Offset position, void *extra)
{
    CHECK(extra == &state && type == MPI_INT);
    convert_in(user, count, bytes, position);
    return MPI_SUCCESS;
}

static int write_large(void *user, MPI_Datatype type, MPI_Count count, void *bytes, MPI_Offset position, void *extra)
{
    CHECK(extra == &state && type == MPI_INT);
    convert_out(user, count, bytes, position);
    return MPI_SUCCESS;
}

static void own(void)
{
    static int out[N], in[N];
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < N; i++) out[i] = 70000 + rank * 1000 + i;
    OK(MPI_Register_datarep("small", read_int, write_int, extent_of, &state));
    OK(MPI_Register_datarep_c("small-large", read_large, write_large, extent_of, &state));
    for (int collective = 0; collective < 2; collective++) {
        reopen();
        interleaved("small", collective, out, in, MPI_INT, sizeof(int), 3);
        OK(MPI_File_close(&file));
        reopen();
        interleaved("small-large", collective, out, in, MPI_INT, sizeof(int), 3);
        OK(MPI_File_close(&file));
    }
    CHECK(extents > 0);
    reopen();
    OK(MPI_File_set_view(file, rank * 3 * N, MPI_INT, MPI_INT, "small", MPI_INFO_NULL));
    OK(MPI_File_write(file, out, N, MPI_INT, &status));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    fail_read = fail_write = 1;
    FAILS(MPI_ERR_CONVERSION, MPI_File_write_at(file, 0, out, N, MPI_INT, &status));
    FAILS(MPI_ERR_CONVERSION, MPI_File_read_at(file, 0, in, N, MPI_INT, &status));
    OK(MPI_File_iread_at(file, 0, in, N, MPI_INT, &request));
    FAILS(MPI_ERR_CONVERSION, MPI_Wait(&request, &status));
    FAILS(MPI_ERR_CONVERSION, MPI_File_read_at_all(file, 0, in, N, MPI_INT, &status));
    FAILS(MPI_ERR_CONVERSION, MPI_File_write_at_all(file, 0, out, N, MPI_INT, &status));
    fail_read = fail_write = 0;
    OK(MPI_File_read_at(file, 0, in, N, MPI_INT, &status));
    CHECK(!memcmp(in, out, sizeof in));
    OK(MPI_File_close(&file));
}

static void refused(void)
{
    char longest[MPI_MAX_DATAREP_STRING + 8];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("small", read_int, write_int, extent_of, &state));
    FAILS(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", read_int, write_int, extent_of, &state));
    FAILS(MPI_ERR_ARG, MPI_Register_datarep(longest, read_int, write_int, extent_of, &state));
    if (strict()) {
        FAILS(MPI_ERR_ARG, MPI_Register_datarep("other", read_int, write_int, NULL, &state));
        FAILS(MPI_ERR_ARG, MPI_Register_datarep(NULL, read_int, write_int, extent_of, &state));
        FAILS(MPI_ERR_ARG, MPI_Register_datarep("", read_int, write_int, extent_of, &state));
    }
    /* Without functions nothing is converted. */
    OK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &state));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    external32(0);
    external32(1);
    if (strict()) own(); /* Others know the predefined ones only. */
    if (strict()) refused();
    return finish();
}
