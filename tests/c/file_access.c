// ranks: 1 2 3
// Access by one process: explicit offsets and the individual pointer, blocking and nonblocking, both
// count sizes; statuses, the end of the file, and wrong arguments.
#include "file.h"

enum { N = 1000 };
static MPI_File file;
static int out[N], in[N];

static int count_of(MPI_Status *status, MPI_Datatype type)
{
    int count = -7;
    OK(MPI_Get_count(status, type, &count));
    return count;
}

static void fill(int from)
{
    for (int i = 0; i < N; i++) {
        out[i] = from + i;
        in[i] = -1;
    }
}

/* How many of the first `n` of `in` are not from, from + 1, ... */
static int wrong(int from, int n)
{
    int bad = 0;
    for (int i = 0; i < n; i++) bad += in[i] != from + i;
    for (int i = n; i < N; i++) bad += in[i] != -1;
    return bad;
}

static void offsets(int form)
{
    const MPI_Offset at = (MPI_Offset)rank * sizeof out;
    const int from = rank * 10000 + form;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    fill(from);
    switch (form) {
    case 0: OK(MPI_File_write_at(file, at, out, N, MPI_INT, &status)); break;
    case 1: OK(MPI_File_write_at_c(file, at, out, N, MPI_INT, &status)); break;
    case 2: OK(MPI_File_iwrite_at(file, at, out, N, MPI_INT, &request)); break;
    default: OK(MPI_File_iwrite_at_c(file, at, out, N, MPI_INT, &request)); break;
    }
    if (form >= 2) OK(MPI_Wait(&request, &status));
    CHECK(count_of(&status, MPI_INT) == N);
    switch (form) {
    case 0: OK(MPI_File_read_at(file, at, in, N, MPI_INT, &status)); break;
    case 1: OK(MPI_File_read_at_c(file, at, in, N, MPI_INT, &status)); break;
    case 2: OK(MPI_File_iread_at(file, at, in, N, MPI_INT, &request)); break;
    default: OK(MPI_File_iread_at_c(file, at, in, N, MPI_INT, &request)); break;
    }
    if (form >= 2) OK(MPI_Wait(&request, &status));
    CHECK(count_of(&status, MPI_INT) == N);
    CHECK(wrong(from, N) == 0);
}

static void pointer(int form)
{
    const int from = rank * 20000 + form;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Offset position;
    fill(from);
    OK(MPI_File_set_view(file, (MPI_Offset)rank * sizeof out, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_get_position(file, &position));
    CHECK(position == 0);
    if (form == 0) {
        OK(MPI_File_write(file, out, N / 2, MPI_INT, &status));
        CHECK(count_of(&status, MPI_INT) == N / 2);
        OK(MPI_File_write_c(file, out + N / 2, N / 2, MPI_INT, &status));
    } else {
        OK(MPI_File_iwrite(file, out, N / 2, MPI_INT, &requests[0]));
        OK(MPI_File_iwrite_c(file, out + N / 2, N / 2, MPI_INT, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    OK(MPI_File_get_position(file, &position));
    CHECK(position == N);
    OK(MPI_File_seek(file, -N, MPI_SEEK_CUR));
    if (form == 0) {
        OK(MPI_File_read(file, in, N / 2, MPI_INT, &status));
        OK(MPI_File_read_c(file, in + N / 2, N / 2, MPI_INT, &status));
    } else {
        int flag = 0;
        OK(MPI_File_iread(file, in, N / 2, MPI_INT, &requests[0]));
        OK(MPI_File_iread_c(file, in + N / 2, N / 2, MPI_INT, &requests[1]));
        while (!flag) OK(MPI_Test(&requests[0], &flag, &status));
        CHECK(count_of(&status, MPI_INT) == N / 2 && requests[0] == MPI_REQUEST_NULL);
        OK(MPI_Cancel(&requests[1]));
        OK(MPI_Wait(&requests[1], &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag && count_of(&status, MPI_INT) == N / 2);
    }
    CHECK(wrong(from, N) == 0);
    OK(MPI_File_seek(file, 3, MPI_SEEK_SET));
    OK(MPI_File_iread(file, in, 1, MPI_INT, &requests[0]));
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_File_get_position(file, &position));
    CHECK(position == 4);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

static void end_of_file(void)
{
    MPI_Status status;
    MPI_Offset position, bytes;
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_set_size(file, 10 * sizeof(int) + 2));
    OK(MPI_File_seek(file, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &position));
    CHECK(position == 11, "%lld", (long long)position);
    OK(MPI_File_set_size(file, 10 * sizeof(int)));
    OK(MPI_File_seek(file, -4, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &position));
    CHECK(position == 6);
    if (rank == 0) {
        fill(5);
        OK(MPI_File_write_at(file, 0, out, 10, MPI_INT, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    fill(0);
    OK(MPI_File_read(file, in, N, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 4);
    CHECK(wrong(11, 4) == 0);
    OK(MPI_File_read(file, in, N, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 0);
    OK(MPI_File_read_at(file, 1 << 20, in, N, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 0);
    OK(MPI_File_read_at(file, 0, in, 0, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 0);
    CHECK(wrong(11, 4) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* A write of nothing leaves the file as it is; one behind the end leaves a hole of zeros. */
    OK(MPI_File_write_at(file, 5000, out, 0, MPI_INT, &status));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 10 * sizeof(int));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_File_write_at(file, 20, out, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at(file, 9, in, 12, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 12 && in[0] == 14 && in[1] == 0 && in[10] == 0 && in[11] == out[0]);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

/* Elements with gaps in memory. */
static void gaps(void)
{
    MPI_Datatype column;
    MPI_Status status;
    int elements;
    fill(rank);
    OK(MPI_Type_vector(50, 2, 7, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_File_write_at(file, rank * 10000, out, 1, column, &status));
    OK(MPI_Get_elements(&status, column, &elements));
    CHECK(elements == 100 && count_of(&status, column) == 1);
    OK(MPI_File_read_at(file, rank * 10000, in, 100, MPI_INT, &status));
    int bad = 0;
    for (int i = 0; i < 100; i++) bad += in[i] != out[i / 2 * 7 + i % 2];
    CHECK(bad == 0);
    fill(rank);
    OK(MPI_File_read_at(file, rank * 10000, in, 1, column, &status));
    bad = 0;
    for (int i = 0; i < 350; i++) bad += in[i] != (i % 7 < 2 && i < 345 ? out[i] : -1);
    CHECK(bad == 0);
    OK(MPI_Type_free(&column));
}

static void refused(void)
{
    MPI_Datatype loose;
    MPI_Offset offset;
    MPI_Request request;
    int whence = 77;
    OK(MPI_Type_contiguous(3, MPI_INT, &loose));
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_SET));
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, 0, whence));
    FAILS(MPI_ERR_COUNT, MPI_File_write_at(file, 0, out, -1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TYPE, MPI_File_write_at(file, 0, out, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
    if (strict()) {
        FAILS(MPI_ERR_ARG, MPI_File_write_at(file, -1, out, 1, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_ARG, MPI_File_iread_at(file, -1, in, 1, MPI_INT, &request));
        FAILS(MPI_ERR_ARG, MPI_File_read_at(file, INT64_MAX, in, 1, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_TYPE, MPI_File_write(file, out, 1, loose, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_BUFFER, MPI_File_read(file, NULL, 1, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_ARG, MPI_File_iread(file, in, 1, MPI_INT, NULL));
        FAILS(MPI_ERR_ARG, MPI_File_get_position(file, NULL));
        FAILS(MPI_ERR_ARG, MPI_File_get_byte_offset(file, -1, &offset));
        FAILS(MPI_ERR_FILE, MPI_File_read(MPI_FILE_NULL, in, 1, MPI_INT, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_FILE, MPI_File_iwrite(MPI_FILE_NULL, in, 1, MPI_INT, &request));
        OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        FAILS(MPI_ERR_TYPE, MPI_File_write(file, out, 3, MPI_SHORT, MPI_STATUS_IGNORE));
        OK(MPI_File_get_position(file, &offset));
        CHECK(offset == 0, "a call that failed has moved the pointer");
    }
    OK(MPI_Type_free(&loose));
    OK(MPI_File_close(&file));
    /* What a file was not opened for. */
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_write(file, out, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_iwrite_at(file, 0, out, 1, MPI_INT, &request));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_write_all(file, out, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read(file, in, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_ACCESS, MPI_File_read(file, in, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ACCESS, MPI_File_iread_at(file, 0, in, 1, MPI_INT, &request));
    FAILS(MPI_ERR_ACCESS, MPI_File_read_all(file, in, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Offset bytes;
    OK(MPI_File_get_size(file, &bytes));
    OK(MPI_File_get_position(file, &offset));
    CHECK(offset == bytes && bytes > 0);
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Where the disk is full. */
static void full(void)
{
    MPI_Request request;
    if (access("/dev/full", W_OK))
        return;
    OK(MPI_File_open(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_NO_SPACE, MPI_File_write(file, out, N, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_iwrite(file, out, N, MPI_INT, &request));
    FAILS(MPI_ERR_NO_SPACE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    for (int form = 0; form < 4; form++) offsets(form);
    for (int form = 0; form < 2; form++) pointer(form);
    end_of_file();
    gaps();
    refused();
    full();
    if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
    return finish();
}
