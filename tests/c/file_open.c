// ranks: 1 2 3 5
// Opening, closing, deleting; what a file is asked and told as a whole; wrong arguments. Every error
// of a collective call is the same at all ranks, and nobody waits for ever.
#include "file.h"

static const int create = MPI_MODE_RDWR | MPI_MODE_CREATE;

static void opening(void)
{
    MPI_File file;
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    CHECK(length_of(name) == 0);
    FAILS(MPI_ERR_FILE_EXISTS, MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
    OK(MPI_File_open(MPI_COMM_WORLD, name, create, MPI_INFO_NULL, &file));
    int amode;
    OK(MPI_File_get_amode(file, &amode));
    CHECK(amode == create);
    MPI_Group of_file, of_world;
    int same;
    OK(MPI_File_get_group(file, &of_file));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &of_world));
    OK(MPI_Group_compare(of_file, of_world, &same));
    CHECK(same == MPI_IDENT);
    OK(MPI_Group_free(&of_file));
    OK(MPI_Group_free(&of_world));
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* A prefix for the file system is no part of the name. */
    char prefixed[300];
    snprintf(prefixed, sizeof prefixed, "ufs:%s", name);
    OK(MPI_File_open(MPI_COMM_SELF, prefixed, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK(length_of(name) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_close(&file));
    CHECK(length_of(name) == -1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void modes(void)
{
    static const int bad[] = {
        0, MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_MODE_RDWR | MPI_MODE_WRONLY,
        MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
    };
    MPI_File file;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, name, bad[i], MPI_INFO_NULL, &file));
    if (!strict())
        return;
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | 1 << 20, MPI_INFO_NULL, &file));
    if (size > 1) {
        /* One rank asks for something else, or for something wrong: all are told. */
        int mine = rank == size - 1 ? MPI_MODE_WRONLY | MPI_MODE_CREATE : create;
        FAILS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, name, mine, MPI_INFO_NULL, &file));
        FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, name, rank == size - 1 ? 0 : create, MPI_INFO_NULL, &file));
        char other[300];
        snprintf(other, sizeof other, "%s%s", name, rank == size - 1 ? "-other" : "");
        FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, other, create | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
        CHECK(length_of(name) == -1, "what was created in vain is there");
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == size - 1) {
            OK(MPI_File_open(MPI_COMM_SELF, other, create, MPI_INFO_NULL, &file));
            OK(MPI_File_close(&file));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        FAILS(MPI_ERR_NOT_SAME, MPI_File_open(MPI_COMM_WORLD, other, create | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
        if (rank == size - 1)
            OK(MPI_File_delete(other, MPI_INFO_NULL));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        /* Different names of the same file are no mistake. */
        snprintf(other, sizeof other, "%s%s", rank ? "/tmp/.." : "", name);
        OK(MPI_File_open(MPI_COMM_WORLD, other, create, MPI_INFO_NULL, &file));
        OK(MPI_File_close(&file));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == 0)
            OK(MPI_File_delete(name, MPI_INFO_NULL));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

static void names(void)
{
    MPI_File file;
    char missing[300];
    snprintf(missing, sizeof missing, "%s-no/file", name);
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(name, MPI_INFO_NULL));
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, missing, create, MPI_INFO_NULL, &file));
    if (!strict())
        return;
    FAILS(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_WORLD, "", create, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_WORLD, "/tmp", create, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_WORLD, NULL, create, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_BAD_FILE, MPI_File_delete("", MPI_INFO_NULL));
    FAILS(MPI_ERR_COMM, MPI_File_open(MPI_COMM_NULL, name, create, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_ARG, MPI_File_open(MPI_COMM_WORLD, name, create, MPI_INFO_NULL, NULL));
    if (size > 1) {
        MPI_Comm half, inter;
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0, 1, &inter));
        FAILS(MPI_ERR_COMM, MPI_File_open(inter, name, create, MPI_INFO_NULL, &file));
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&half));
    }
}

static void sizes(void)
{
    MPI_File file;
    MPI_Offset bytes;
    OK(MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_set_size(file, 1000));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 1000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_set_size(file, 10));
    OK(MPI_File_preallocate(file, 5));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 10);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_preallocate(file, 5000));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 5000);
    OK(MPI_File_sync(file));
    if (strict()) {
        FAILS(MPI_ERR_ARG, MPI_File_set_size(file, -1));
        FAILS(MPI_ERR_ARG, MPI_File_preallocate(file, -1));
        if (size > 1) {
            FAILS(MPI_ERR_NOT_SAME, MPI_File_set_size(file, rank));
            FAILS(MPI_ERR_NOT_SAME, MPI_File_preallocate(file, rank));
            FAILS(MPI_ERR_NOT_SAME, MPI_File_set_atomicity(file, rank));
            FAILS(MPI_ERR_ARG, MPI_File_set_size(file, rank - 1));
        }
        FAILS(MPI_ERR_ARG, MPI_File_get_size(file, NULL));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_File_get_size(file, &bytes));
        CHECK(bytes == 5000);
    }
    int atomic = 7;
    OK(MPI_File_get_atomicity(file, &atomic));
    CHECK(atomic == 0);
    OK(MPI_File_set_atomicity(file, 5));
    OK(MPI_File_get_atomicity(file, &atomic));
    CHECK(atomic == 1);
    OK(MPI_File_close(&file));
    /* What is only read cannot be changed. */
    if (rank == 0)
        close(open(name, O_CREAT | O_WRONLY, 0600));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_set_size(file, 10));
    FAILS(MPI_ERR_READ_ONLY, MPI_File_preallocate(file, 10));
    OK(MPI_File_sync(file));
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        unlink(name);
}

static void info_is(MPI_Info info, const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL];
    int room = sizeof value, there;
    OK(MPI_Info_get_string(info, key, &room, value, &there));
    CHECK(there == (wanted != NULL), "%s", key);
    CHECK(!there || !wanted || !strcmp(value, wanted), "%s is %s, not %s", key, value, wanted);
}

static void hints(void)
{
    MPI_File file;
    MPI_Info info, used;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "cb_buffer_size", "65536"));
    OK(MPI_Info_set(info, "romio_ds_write", "disable"));
    OK(MPI_Info_set(info, "romio_cb_read", "perhaps"));
    OK(MPI_Info_set(info, "my_own", "1"));
    OK(MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    OK(MPI_File_get_info(file, &used));
    info_is(used, "cb_buffer_size", "65536");
    info_is(used, "romio_ds_write", "disable");
    info_is(used, "romio_cb_read", "automatic");
    info_is(used, "my_own", NULL);
    OK(MPI_Info_free(&used));
    OK(MPI_Info_set(info, "cb_buffer_size", rank ? "1" : "131072"));
    OK(MPI_Info_set(info, "access_style", "read_once"));
    OK(MPI_File_set_info(file, info));
    OK(MPI_File_get_info(file, &used));
    if (strict())
        info_is(used, "cb_buffer_size", "131072");
    OK(MPI_Info_free(&used));
    OK(MPI_File_set_info(file, MPI_INFO_NULL));
    OK(MPI_Info_set(info, "cb_nodes", "1"));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
    OK(MPI_File_get_info(file, &used));
    info_is(used, "cb_nodes", "1");
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_File_close(&file));
}

static void closed(void)
{
    MPI_File file, stale;
    MPI_Offset offset;
    OK(MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    stale = file;
    OK(MPI_File_close(&file));
    FAILS(MPI_ERR_FILE, MPI_File_close(&file));
    FAILS(MPI_ERR_FILE, MPI_File_get_size(file, &offset));
    FAILS(MPI_ERR_FILE, MPI_File_seek(file, 0, MPI_SEEK_SET));
    if (strict()) {
        FAILS(MPI_ERR_FILE, MPI_File_get_size(stale, &offset));
        FAILS(MPI_ERR_FILE, MPI_File_sync(stale));
        FAILS(MPI_ERR_FILE, MPI_File_close(&stale));
    }
}

static MPI_File seen;
static int calls, last;
static void handler(MPI_File *file, int *code, ...)
{
    seen = *file;
    last = *code;
    calls++;
}

static void handlers(void)
{
    MPI_File file;
    MPI_Errhandler own, found;
    OK(MPI_File_create_errhandler(handler, &own));
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
    CHECK(found == MPI_ERRORS_RETURN);
    /* That of MPI_FILE_NULL takes the errors of calls that have no file, and is inherited. */
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, own));
    FAILS(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, name, 0, MPI_INFO_NULL, &file));
    CHECK(calls == 1 && seen == MPI_FILE_NULL && last == MPI_ERR_AMODE);
    FAILS(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(name, MPI_INFO_NULL));
    CHECK(calls == 2);
    OK(MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_SET));
    CHECK(calls == 3 && seen == file && last == MPI_ERR_ARG);
    OK(MPI_File_get_errhandler(file, &found));
    CHECK(found == own);
    OK(MPI_Errhandler_free(&found));
    OK(MPI_File_call_errhandler(file, MPI_ERR_IO));
    CHECK(calls == 4 && last == MPI_ERR_IO);
    OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_SET));
    CHECK(calls == 4);
    OK(MPI_File_close(&file));
    FAILS(MPI_ERR_FILE, MPI_File_close(&file));
    CHECK(calls == 4);
    OK(MPI_Errhandler_free(&own));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    opening();
    modes();
    names();
    sizes();
    hints();
    closed();
    handlers();
    return finish();
}
