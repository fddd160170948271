// ranks: 1 2 3 5
// The shared file pointer, used by all ranks at once: no record is lost or comes twice. Ordered access,
// in all forms. Files that are sequential.
#include "file.h"

enum { RECORDS = 300 };
static MPI_File file;

struct record {
    int rank, number;
};

static void reopen(int amode)
{
    OK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file));
    MPI_Datatype pair;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_File_set_view(file, amode & MPI_MODE_SEQUENTIAL ? MPI_DISPLACEMENT_CURRENT : 0, pair, pair, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&pair));
}

/* Writes one record of several forms. */
static void put(struct record *record, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    switch (record->number % 4) {
    case 0: OK(MPI_File_write_shared(file, record, 2, MPI_INT, MPI_STATUS_IGNORE)); break;
    case 1: OK(MPI_File_write_shared_c(file, record, 2, MPI_INT, MPI_STATUS_IGNORE)); break;
    case 2: OK(MPI_File_iwrite_shared(file, record, 2, MPI_INT, request)); break;
    default: OK(MPI_File_iwrite_shared_c(file, record, 2, MPI_INT, request)); break;
    }
}

static int get(struct record *record, int form)
{
    MPI_Status status;
    MPI_Request request;
    int count;
    switch (form % 4) {
    case 0: OK(MPI_File_read_shared(file, record, 2, MPI_INT, &status)); break;
    case 1: OK(MPI_File_read_shared_c(file, record, 2, MPI_INT, &status)); break;
    case 2: OK(MPI_File_iread_shared(file, record, 2, MPI_INT, &request)); break;
    default: OK(MPI_File_iread_shared_c(file, record, 2, MPI_INT, &request)); break;
    }
    if (form % 4 > 1) OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    return count == 2;
}

/* Every record of every rank is there once. `all` counts what this rank has read. */
static void complete(int *all, const char *what)
{
    int n = size * RECORDS, *sum = calloc(n, sizeof(int)), bad = 0;
    OK(MPI_Allreduce(all, sum, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++) bad += sum[i] != 1;
    CHECK(bad == 0, "%s: %d of %d records", what, bad, n);
    free(sum);
}

static void records(int write, int read)
{
    static struct record mine[RECORDS];
    static MPI_Request requests[RECORDS];
    int *all = calloc(size * RECORDS, sizeof(int));
    struct record one;
    MPI_Offset position;
    reopen(write);
    for (int i = 0; i < RECORDS; i++) {
        mine[i] = (struct record){rank, i};
        put(&mine[i], &requests[i]);
    }
    OK(MPI_Waitall(RECORDS, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!(write & MPI_MODE_SEQUENTIAL)) {
        OK(MPI_File_get_position_shared(file, &position));
        CHECK(position == size * RECORDS);
        OK(MPI_File_get_position(file, &position));
        CHECK(position == 0, "the individual pointer stays");
    }
    OK(MPI_File_close(&file));
    CHECK(length_of(name) == (long long)sizeof(struct record) * size * RECORDS);
    reopen(read);
    for (int i = 0; get(&one, i); i++) {
        CHECK(one.rank >= 0 && one.rank < size && one.number >= 0 && one.number < RECORDS);
        if (one.rank >= 0 && one.rank < size && one.number >= 0 && one.number < RECORDS)
            all[one.rank * RECORDS + one.number]++;
    }
    complete(all, "shared");
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    free(all);
}

/* Rank r has r + 1 records in round 0, one more in each further round. */
static void ordered(int form)
{
    static struct record mine[64], back[64];
    MPI_Status status;
    MPI_Offset position;
    int count, before = 0;
    for (int r = 0; r < rank; r++) before += r + 1 + form;
    int n = rank + 1 + form, all = before;
    for (int r = rank; r < size; r++) all += r + 1 + form;
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < n; i++) mine[i] = (struct record){rank, turn * 1000 + i};
        switch (form) {
        case 0: OK(MPI_File_write_ordered(file, mine, 2 * n, MPI_INT, &status)); break;
        case 1: OK(MPI_File_write_ordered_c(file, mine, 2 * n, MPI_INT, &status)); break;
        case 2: OK(MPI_File_write_ordered_begin(file, mine, 2 * n, MPI_INT)); break;
        default: OK(MPI_File_write_ordered_begin_c(file, mine, 2 * n, MPI_INT)); break;
        }
        if (form > 1) OK(MPI_File_write_ordered_end(file, mine, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == 2 * n);
    }
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == 2 * all, "%lld", (long long)position);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int turn = 0; turn < 2; turn++) {
        OK(MPI_File_read_at(file, turn * all + before, back, 2 * n, MPI_INT, &status));
        int bad = 0;
        for (int i = 0; i < n; i++) bad += back[i].rank != rank || back[i].number != turn * 1000 + i;
        CHECK(bad == 0);
    }
    OK(MPI_File_seek_shared(file, all, MPI_SEEK_SET));
    memset(back, 0, sizeof back);
    switch (form) {
    case 0: OK(MPI_File_read_ordered(file, back, 2 * n, MPI_INT, &status)); break;
    case 1: OK(MPI_File_read_ordered_c(file, back, 2 * n, MPI_INT, &status)); break;
    case 2: OK(MPI_File_read_ordered_begin(file, back, 2 * n, MPI_INT)); break;
    default: OK(MPI_File_read_ordered_begin_c(file, back, 2 * n, MPI_INT)); break;
    }
    if (form > 1) OK(MPI_File_read_ordered_end(file, back, &status));
    int bad = 0;
    for (int i = 0; i < n; i++) bad += back[i].rank != rank || back[i].number != 1000 + i;
    CHECK(bad == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void seeking(void)
{
    MPI_Offset position;
    OK(MPI_File_set_size(file, 10 * sizeof(struct record)));
    OK(MPI_File_seek_shared(file, 4, MPI_SEEK_SET));
    OK(MPI_File_seek_shared(file, 2, MPI_SEEK_CUR));
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == 6);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(file, -1, MPI_SEEK_END));
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == 9);
    if (!strict())
        return;
    FAILS(MPI_ERR_ARG, MPI_File_seek_shared(file, -11, MPI_SEEK_END));
    FAILS(MPI_ERR_ARG, MPI_File_seek_shared(file, 0, 55));
    if (size > 1) {
        FAILS(MPI_ERR_NOT_SAME, MPI_File_seek_shared(file, rank, MPI_SEEK_SET));
        FAILS(MPI_ERR_ARG, MPI_File_seek_shared(file, 0, rank == 1 ? 55 : MPI_SEEK_SET));
    }
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == 9);
    /* One rank's part is wrong: the others get theirs. */
    int word[2] = {7, 7}, none = rank == size - 1;
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    if (none) FAILS(MPI_ERR_TYPE, MPI_File_write_ordered(file, word, 1, MPI_INT, MPI_STATUS_IGNORE));
    else OK(MPI_File_write_ordered(file, word, 2, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == size - 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* Set at the end by MPI_MODE_APPEND, and at 0 by a view. */
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL, &file));
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == 10 * sizeof(struct record));
    OK(MPI_File_get_position(file, &position));
    CHECK(position == 10 * sizeof(struct record));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == 0);
}

static void sequential(void)
{
    int word = 0;
    MPI_Offset offset;
    MPI_Request request;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
    const int class = MPI_ERR_UNSUPPORTED_OPERATION;
    FAILS(class, MPI_File_write(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(class, MPI_File_write_at(file, 0, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(class, MPI_File_iwrite(file, &word, 1, MPI_INT, &request));
    FAILS(class, MPI_File_write_all(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(class, MPI_File_write_at_all(file, 0, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(class, MPI_File_iwrite_all(file, &word, 1, MPI_INT, &request));
    FAILS(class, MPI_File_seek(file, 0, MPI_SEEK_SET));
    FAILS(class, MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    FAILS(class, MPI_File_get_position(file, &offset));
    FAILS(class, MPI_File_get_byte_offset(file, 0, &offset));
    FAILS(class, MPI_File_set_size(file, 0));
    if (strict()) {
        FAILS(class, MPI_File_get_position_shared(file, &offset));
        FAILS(class, MPI_File_write_all_begin(file, &word, 1, MPI_INT));
        FAILS(MPI_ERR_ARG, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    }
    OK(MPI_File_write_ordered(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    /* A view begins where the pointer is. */
    OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Datatype e, f;
    char datarep[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(file, &offset, &e, &f, datarep));
    CHECK(offset == (MPI_Offset)sizeof(int) * size, "%lld", (long long)offset);
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    records(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_MODE_RDONLY);
    records(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
    reopen(MPI_MODE_RDWR | MPI_MODE_CREATE);
    for (int form = 0; form < 4; form++) ordered(form);
    seeking();
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    sequential();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
    return finish();
}
