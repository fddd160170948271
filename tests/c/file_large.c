// ranks: 1 3
// timeout: 240
// needs: test "$(df -Pk "${TMPDIR:-/tmp}" | awk 'NR == 2 { print $4 }')" -gt 9000000
// Offsets, counts and views beyond 2^31, in files with holes.
#include "large.h"
#include "file.h"

/* More bytes than an int counts in one call: written, and read back. */
static void one_call(void)
{
    const MPI_Count many = MORE_THAN_INT;
    const MPI_Offset from = 3;
    unsigned char *memory = repeated(many);
    MPI_File file;
    MPI_Status status;
    MPI_Count count;
    MPI_Offset size_now;
    CHECK(memory != NULL);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    fill(memory);
    OK(MPI_File_write_at_c(file, from, memory, many, MPI_BYTE, &status));
    OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
    CHECK(count == many, "%lld", (long long)count);
    OK(MPI_File_get_size(file, &size_now));
    CHECK(size_now == from + many, "%lld", (long long)size_now);
    memset(memory, 0, PIECE);
    OK(MPI_File_seek(file, from, MPI_SEEK_SET));
    OK(MPI_File_read_c(file, memory, many + 5, MPI_BYTE, &status));
    OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
    CHECK(count == many, "%lld", (long long)count);
    CHECK(is_filled(memory));
    /* By what was asked for. */
    OK(MPI_File_get_position(file, &size_now));
    CHECK(size_now == from + many + 5, "%lld", (long long)size_now);
    OK(MPI_File_close(&file));
    give_back(memory, many);
}

/* A few bytes of each rank far behind the beginning, by offsets, pointers of both kinds, and the size. */
static void far(MPI_File file)
{
    const MPI_Offset base = (5LL << 30) + 7;
    MPI_Offset now;
    MPI_Status status;
    int value = rank + 1, seen = 0, sum;
    OK(MPI_File_write_at_all(file, base + 4 * rank, &value, 1, MPI_INT, &status));
    OK(MPI_File_seek(file, base + 4 * ((rank + 1) % size), MPI_SEEK_SET));
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read(file, &seen, 1, MPI_INT, &status));
    CHECK(seen == (rank + 1) % size + 1, "%d", seen);
    OK(MPI_File_get_position(file, &now));
    CHECK(now == base + 4 * ((rank + 1) % size) + 4);
    OK(MPI_File_seek_shared(file, base + 1000, MPI_SEEK_SET));
    OK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_position_shared(file, &now));
    CHECK(now == base + 1000 + 4 * size, "%lld", (long long)now);
    OK(MPI_File_read_at(file, base + 1000 + 4 * rank, &seen, 1, MPI_INT, &status));
    OK(MPI_Allreduce(&seen, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size + 1) / 2, "%d", sum);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_set_size(file, (MPI_Offset)1 << 40));
    OK(MPI_File_get_size(file, &now));
    CHECK(now == (MPI_Offset)1 << 40);
    OK(MPI_File_read_at(file, ((MPI_Offset)1 << 40) - 4, &seen, 1, MPI_INT, &status));
    CHECK(seen == 0);
}

/* A view whose elements lie 3 GiB apart, written collectively and read individually. */
static void view(MPI_File file)
{
    const MPI_Offset displacement = (4LL << 30) + 64 * rank;
    MPI_Datatype apart;
    int out[4], in[4] = {0};
    MPI_Offset now, bytes;
    for (int i = 0; i < 4; i++) out[i] = 100 * rank + i;
    OK(MPI_Type_create_resized_c(MPI_INT, 0, 3LL << 30, &apart));
    OK(MPI_Type_commit(&apart));
    OK(MPI_File_set_view(file, displacement, MPI_INT, apart, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(file, out, 4, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_get_position(file, &now));
    CHECK(now == 4);
    OK(MPI_File_get_byte_offset(file, 3, &bytes));
    CHECK(bytes == displacement + 3 * (3LL << 30), "%lld", (long long)bytes);
    OK(MPI_File_read_at(file, 0, in, 4, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(memcmp(in, out, sizeof in) == 0);
    memset(in, 0, sizeof in);
    OK(MPI_File_read_at_all(file, 2, in, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(in[0] == out[2] && in[1] == out[3]);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(file, displacement + (9LL << 30), in, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(in[0] == out[3], "%d", in[0]);
    OK(MPI_Type_free(&apart));
}

int main(int argc, char **argv)
{
    MPI_File file;
    begin_file(&argc, &argv);
    if (size == 1)
        one_call();
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file));
    far(file);
    view(file);
    OK(MPI_File_close(&file));
    return finish();
}
