// ranks: 2 3 4
// Blocks of all ranks in turns, written by each for itself at the same time: windows that one rank
// reads, changes and writes back lose nothing of what others write into their holes, be it by windows
// too, run by run, or with a contiguous view, also through another handle of the same file.
#include "file.h"

enum { BLOCK = 24, BLOCKS = 300, TIMES = 40 };

/* The view of this rank's blocks, behind `skip` bytes. */
static void view(MPI_File file, int skip, const char *sieving)
{
    MPI_Datatype block, turn;
    MPI_Info info;
    OK(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
    OK(MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * size, &turn));
    OK(MPI_Type_commit(&turn));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_ds_write", sieving));
    OK(MPI_Info_set(info, "ind_wr_buffer_size", "1500"));
    OK(MPI_File_set_view(file, skip + rank * BLOCK, MPI_BYTE, turn, "native", info));
    OK(MPI_Info_free(&info));
    OK(MPI_Type_free(&block));
    OK(MPI_Type_free(&turn));
}

static void rounds(MPI_File file, const char *what)
{
    static unsigned char data[BLOCK * BLOCKS], back[BLOCK * BLOCKS];
    MPI_Status status;
    int lost = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < BLOCK * BLOCKS; i++) data[i] = (unsigned char)(i * 7 + time * 101 + rank * 13);
        OK(MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, &status));
        OK(MPI_File_read_at(file, 0, back, sizeof back, MPI_BYTE, &status));
        lost += memcmp(data, back, sizeof data) != 0;
    }
    CHECK(lost == 0, "%s: %d times of %d", what, lost, TIMES);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0 writes single blocks in holes of the others, by a contiguous view. */
static void plain_among_windows(MPI_File file, MPI_File own)
{
    view(file, 0, "enable");
    if (rank) {
        rounds(file, "windows around plain writes");
        return;
    }
    unsigned char data[BLOCK], back[BLOCK];
    int lost = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int time = 0; time < 20 * TIMES; time++) {
        MPI_Offset at = (MPI_Offset)(time * 37 % BLOCKS) * BLOCK * size;
        memset(data, time + 1, sizeof data);
        OK(MPI_File_write_at(own, at, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        OK(MPI_File_read_at(own, at, back, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        lost += memcmp(data, back, sizeof data) != 0;
    }
    CHECK(lost == 0, "%d plain writes", lost);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    MPI_File file, own;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &own));
    view(file, 0, "enable");
    rounds(file, "windows");
    view(file, 5, rank % 2 ? "enable" : "disable");
    rounds(file, "windows, and run by run");
    view(file, 3, "automatic");
    rounds(file, "as it comes");
    OK(MPI_File_set_atomicity(file, 1));
    view(file, 0, "enable");
    rounds(file, "atomic mode");
    OK(MPI_File_set_atomicity(file, 0));
    plain_among_windows(file, own);
    OK(MPI_File_close(&own));
    OK(MPI_File_close(&file));
    return finish();
}
