// ranks: 2 3
// Collective access to files, and conversion, where there is no memory for data on its way: MPI_ERR_NO_MEM at all processes, and the same
// file works afterwards.
#define _GNU_SOURCE
#include "limit.h"
#include <malloc.h>
#include <unistd.h>

enum {
    EACH = 3 << 20,     /* Ints of a process: 12 MiB. */
    BLOCK = 64,         /* Of so many, in memory as in the file. */
    SLACK = 4 << 20,
};

static int *data;
static MPI_File file;

/* Where int `at` of this process lies. */
static int *place(int at, int apart)
{
    return data + (apart ? at / BLOCK * 2 * BLOCK + at % BLOCK : at);
}

static void fill(int with, int apart)
{
    memset(data, -1, 2 * EACH * sizeof(int));
    for (int at = 0; at < EACH; at++)
        *place(at, apart) = with + rank + at * size;
}

static void holds(int with, int apart)
{
    for (int at = 0; at < EACH; at++)
        if (*place(at, apart) != with + rank + at * size) {
            CHECK(0, "element %d is %d", at, *place(at, apart));
            return;
        }
}

/* Blocks in turns, as the view has them. */
static void view(const char *representation)
{
    MPI_Datatype block, every;
    MPI_Type_contiguous(BLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, size * BLOCK * (MPI_Aint)sizeof(int), &every);
    MPI_Type_commit(&every);
    OK(MPI_File_set_view(file, rank * BLOCK * (MPI_Offset)sizeof(int), MPI_INT, every, representation, MPI_INFO_NULL));
    MPI_Type_free(&block);
    MPI_Type_free(&every);
}

/* Memory is short at this process. */
static struct rlimit before;
static void shorten(int here)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (here)
        before = limit_to(SLACK);
}
static void restore(int here)
{
    if (here)
        lift(before);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Opened anew, it has no memory from before. */
static char name[64];
static void open_file(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "67108864");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Info_free(&info);
}

enum { WRITE, READ, IWRITE, FORMS };

static int access_form(int form, MPI_Datatype type)
{
    MPI_Request request;
    int code;
    switch (form) {
    case WRITE: return MPI_File_write_at_all(file, 0, data, 1, type, MPI_STATUS_IGNORE);
    case READ: return MPI_File_read_at_all(file, 0, data, 1, type, MPI_STATUS_IGNORE);
    default:
        code = MPI_File_iwrite_at_all(file, 0, data, 1, type, &request);
        return code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void in_turns(const char *representation, int everywhere)
{
    MPI_Datatype column;
    int here = everywhere || rank == size - 1;
    MPI_Type_vector(EACH / BLOCK, BLOCK, 2 * BLOCK, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int form = WRITE; form < FORMS; form++) {
        open_file();
        view(representation);
        if (form == READ)
            memset(data, 0, 2 * EACH * sizeof(int));
        else
            fill(100, 1);
        shorten(here);
        FAILS(MPI_ERR_NO_MEM, access_form(form, column));
        restore(here);
        OK(access_form(form, column));
        holds(100, 1);
        OK(MPI_File_close(&file));
    }
    MPI_Type_free(&column);
}

/* One element of the program's type is converted at once. */
static void converted(void)
{
    MPI_Datatype whole;
    MPI_Type_contiguous(EACH, MPI_INT, &whole);
    MPI_Type_commit(&whole);
    OK(MPI_File_set_view(file, rank * (MPI_Offset)EACH * sizeof(int), MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    fill(7, 0);
    shorten(1);
    FAILS(MPI_ERR_NO_MEM, MPI_File_write_at(file, 0, data, 1, whole, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at(file, 0, data, EACH, MPI_INT, MPI_STATUS_IGNORE));
    memset(data, 0, EACH * sizeof(int));
    FAILS(MPI_ERR_NO_MEM, MPI_File_read_at(file, 0, data, 1, whole, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(file, 0, data, EACH, MPI_INT, MPI_STATUS_IGNORE));
    restore(1);
    holds(7, 0);
    MPI_Type_free(&whole);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int number = (int)getpid();
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/tmp/tern-file-refused-%d", number);
    /* What is freed goes back at once. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    data = calloc(2 * EACH, sizeof *data);
    for (int everywhere = 1; everywhere >= 0; everywhere--) {
        in_turns("native", everywhere);
        in_turns("external32", everywhere);
    }
    open_file();
    converted();
    OK(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    return finish();
}
