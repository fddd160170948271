// ranks: 4
// mpiexec: --with-ft
// timeout: 120
// Files of a job that has lost a rank: collective calls fail with MPI_ERR_PROC_FAILED, those of one process work, and files close.
//
// ft_file [MOMENT]: `within`: the rank is lost while the others are in a collective call; else they come to it later.
#include "ft.h"

static char path[300];

/* Where nobody's shared pointer comes to: the others may be further on. */
static void independent(MPI_File file)
{
    const MPI_Offset own = 4096 + rank * 4;
    int number = rank, back = -1;
    MPI_Offset position = 0;
    WORKS(MPI_File_write_at(file, own, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_read_at(file, own, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(back == rank, "%d", back);
    WORKS(MPI_File_seek(file, 0, MPI_SEEK_SET));
    WORKS(MPI_File_write(file, &number, 0, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_get_size(file, &position));
}

/* The shared pointer is every process's own matter: whoever moves it needs nobody. */
static void shared_pointer(MPI_File file)
{
    MPI_Offset before = -1, after = -1;
    int number = rank;
    WORKS(MPI_File_get_position_shared(file, &before));
    WORKS(MPI_File_write_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_get_position_shared(file, &after));
    CHECK(after > before, "%lld", (long long)after);
}

static void collective(MPI_File file)
{
    int numbers[64] = { 0 };
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype strided;
    NEEDS(MPI_File_write_at_all(file, rank * 256, numbers, 64, MPI_INT, MPI_STATUS_IGNORE));
    NEEDS(MPI_File_read_at_all(file, rank * 256, numbers, 64, MPI_INT, MPI_STATUS_IGNORE));
    NEEDS(MPI_File_write_all(file, numbers, 64, MPI_INT, MPI_STATUS_IGNORE));
    NEEDS(MPI_File_read_all(file, numbers, 64, MPI_INT, MPI_STATUS_IGNORE));
    NEEDS(MPI_File_write_ordered(file, numbers, 1, MPI_INT, MPI_STATUS_IGNORE));
    NEEDS(MPI_File_read_ordered(file, numbers, 1, MPI_INT, MPI_STATUS_IGNORE));
    NEEDS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    NEEDS(MPI_File_set_size(file, 4096));
    NEEDS(MPI_File_preallocate(file, 4096));
    NEEDS(MPI_File_set_atomicity(file, 1));
    MAY(MPI_File_sync(file));
    OK(MPI_Type_vector(16, 1, 4, MPI_INT, &strided));
    OK(MPI_Type_commit(&strided));
    NEEDS(MPI_File_set_view(file, rank * 4, MPI_INT, strided, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&strided));
    if (TRY(MPI_File_iwrite_at_all(file, 0, numbers, 1, MPI_INT, &request)) == MPI_SUCCESS)
        NEEDS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (TRY(MPI_File_write_at_all_begin(file, 0, numbers, 1, MPI_INT)) == MPI_SUCCESS)
        NEEDS(MPI_File_write_at_all_end(file, numbers, MPI_STATUS_IGNORE));
    if (TRY(MPI_File_read_ordered_begin(file, numbers, 1, MPI_INT)) == MPI_SUCCESS)
        NEEDS(MPI_File_read_ordered_end(file, numbers, MPI_STATUS_IGNORE));
}

/* Writes and reads of interleaved pieces, which the processes sort among themselves, while one of them is lost. */
static void within(MPI_File file)
{
    static int numbers[4096];
    for (int times = 0; times < 50; times++) {
        MAY(MPI_File_write_all(file, numbers, 4096, MPI_INT, MPI_STATUS_IGNORE));
        MAY(MPI_File_read_all(file, numbers, 4096, MPI_INT, MPI_STATUS_IGNORE));
        MAY(MPI_File_write_ordered(file, numbers, 4096, MPI_INT, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    int is_within = argc > 1 && !strcmp(argv[1], "within");
    MPI_File file, other, own;
    MPI_Datatype strided;
    begin_ft(&argc, &argv);
    if (rank == 0)
        snprintf(path, sizeof path, "%s/tern-ft-file-%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &other));
    MPI_Type_vector(1 << 20, 1, 4, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    if (is_within)
        OK(MPI_File_set_view(file, rank * 4, MPI_INT, strided, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&strided));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim()) {
        if (is_within && fork() == 0) {
            usleep(20000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
        if (is_within)
            for (;;)
                within(file);
        die();
    }
    if (is_within)
        within(file);
    await_loss();
    if (!is_within) {
        independent(file);
        shared_pointer(file);
    }
    collective(file);
    if (!is_within)
        shared_pointer(other);
    MAY(MPI_File_close(&file));
    MAY(MPI_File_close(&other));
    CHECK(file == MPI_FILE_NULL && other == MPI_FILE_NULL, "a file stays open");
    NEEDS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    WORKS(MPI_File_open(living, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &own));
    WORKS(MPI_File_write_at_all(own, rank * 4, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    shared_pointer(own);
    WORKS(MPI_File_sync(own));
    WORKS(MPI_File_close(&own));
    return finish_ft();
}
