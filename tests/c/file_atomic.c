// ranks: 2 3
// Atomic mode: overlapping accesses happen one after the other, through holes too. Every rank writes
// its own number all over the same elements; who looks sees one number only.
#include "file.h"

enum { N = 600, ROUNDS = 60 };

static void check(const int *seen, int round, const char *what)
{
    int mixed = 0;
    for (int i = 1; i < N; i++) mixed += seen[i] != seen[0];
    CHECK(mixed == 0, "%s, round %d: %d of %d differ from the first", what, round, mixed, N);
}

/* `handles`: each rank has opened the file by itself. */
static void run(MPI_Comm comm, int collective, const char *what)
{
    MPI_File file;
    MPI_Datatype holes;
    static int mine[N], seen[N];
    int atomic = 0;
    OK(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    OK(MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &holes));
    OK(MPI_Type_commit(&holes));
    OK(MPI_File_set_view(file, 8, MPI_INT, holes, "native", MPI_INFO_NULL));
    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_get_atomicity(file, &atomic));
    CHECK(atomic == 1);
    OK(MPI_File_write_at(file, 0, seen, N, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) mine[i] = 1 + round * size + rank;
        if (collective) OK(MPI_File_write_at_all(file, 0, mine, N, MPI_INT, MPI_STATUS_IGNORE));
        else OK(MPI_File_write_at(file, 0, mine, N, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_read_at(file, 0, seen, N, MPI_INT, MPI_STATUS_IGNORE));
        check(seen, round, what);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&holes));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    run(MPI_COMM_WORLD, 0, "one handle");
    run(MPI_COMM_SELF, 0, "a handle each");
    run(MPI_COMM_WORLD, 1, "collective");
    if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
    return finish();
}
