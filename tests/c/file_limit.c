// ranks: 1 2 4
// nodes: 1
// A file that may not grow at one rank: whoever relies on that rank for a collective write is told, in
// all forms, and what comes next works. The limit would hold for the memory of the software card's rings too.
#include "file.h"
#include <sys/resource.h>

enum { PART = 1 << 20 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Info info;
    MPI_Datatype block, turn;
    MPI_Request request;
    MPI_Status status;
    char nodes[8], *data, *back;
    begin_file(&argc, &argv);
    data = malloc(PART);
    back = malloc(PART);
    memset(data, 'a' + rank, PART);
    OK(MPI_Info_create(&info));
    snprintf(nodes, sizeof nodes, "%d", size);
    OK(MPI_Info_set(info, "cb_nodes", nodes));
    OK(MPI_Info_set(info, "romio_cb_write", "enable"));
    OK(MPI_Info_set(info, "romio_cb_read", "enable"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    OK(MPI_Info_free(&info));
    OK(MPI_Type_contiguous(1024, MPI_BYTE, &block));
    OK(MPI_Type_create_resized(block, 0, 1024 * size, &turn));
    OK(MPI_Type_commit(&turn));
    OK(MPI_File_set_view(file, 1024 * rank, MPI_BYTE, turn, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(file, 0, data, PART, MPI_BYTE, MPI_STATUS_IGNORE));

    /* All ranks are aggregators; the last one has the last part of the file, which it may not reach. */
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 64 << 10;
    if (rank == size - 1) setrlimit(RLIMIT_FSIZE, &limit);
    FAILS(MPI_ERR_QUOTA, MPI_File_write_at_all(file, PART, data, PART, MPI_BYTE, &status));
    OK(MPI_File_iwrite_at_all(file, PART, data, PART, MPI_BYTE, &request));
    FAILS(MPI_ERR_QUOTA, MPI_Wait(&request, &status));
    OK(MPI_File_write_at_all_begin(file, PART, data, PART, MPI_BYTE));
    FAILS(MPI_ERR_QUOTA, MPI_File_write_at_all_end(file, data, &status));
    if (rank == size - 1) FAILS(MPI_ERR_QUOTA, MPI_File_write_at(file, PART, data, PART, MPI_BYTE, &status));
    if (rank == size - 1) setrlimit(RLIMIT_FSIZE, &before);

    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_write_at_all(file, PART, data, PART, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, PART, back, PART, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(!memcmp(data, back, PART));
    CHECK(length_of(name) == 2ll * PART * size);
    OK(MPI_Type_free(&turn));
    OK(MPI_Type_free(&block));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_close(&file));
    return finish();
}
