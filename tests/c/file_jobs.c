// ranks: 1 2
// A file of processes of two jobs, which share no memory: collective access, and a shared file pointer
// that all use at once.
#include "file.h"
#include "jobs.h"

enum { CHILDREN = 2, RECORDS = 50 };

int main(int argc, char **argv)
{
    MPI_Comm inter, all;
    MPI_File file;
    MPI_Offset position;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    all = with_children(argv[0], CHILDREN, &inter);
    if (rank == 0) choose_name();
    OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, all));

    OK(MPI_File_open(all, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < RECORDS; i++) {
        int record = rank * RECORDS + i;
        OK(MPI_File_write_shared(file, &record, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(all));
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == size * RECORDS);
    int *seen = calloc(size * RECORDS, sizeof(int)), record, missing = 0;
    for (int i = 0; i < size * RECORDS; i++) {
        OK(MPI_File_read_at(file, i, &record, 1, MPI_INT, MPI_STATUS_IGNORE));
        if (record >= 0 && record < size * RECORDS) seen[record]++;
    }
    for (int i = 0; i < size * RECORDS; i++) missing += seen[i] != 1;
    CHECK(missing == 0, "%d records", missing);

    /* Every size-th int, in two phases. */
    MPI_Datatype every;
    MPI_Info info;
    int *out = malloc(5000 * sizeof(int)), *in = calloc(5000, sizeof(int));
    OK(MPI_Type_create_resized(MPI_INT, 0, size * sizeof(int), &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", "enable"));
    OK(MPI_Info_set(info, "romio_cb_read", "enable"));
    OK(MPI_File_set_view(file, rank * sizeof(int), MPI_INT, every, "native", info));
    for (int i = 0; i < 5000; i++) out[i] = rank * 5000 + i;
    OK(MPI_File_write_all(file, out, 5000, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, 0, in, 5000, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(!memcmp(in, out, 5000 * sizeof(int)));
    OK(MPI_Info_free(&info));
    OK(MPI_Type_free(&every));
    OK(MPI_File_close(&file));
    free(seen), free(out), free(in);
    OK(MPI_Comm_free(&all));
    OK(MPI_Comm_disconnect(&inter));
    return finish();
}
