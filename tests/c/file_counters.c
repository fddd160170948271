// ranks: 2
// What the counters of files say of accesses whose calls are known.
#include "file.h"

typedef unsigned long long number;

static const char *const names[] = {
    "file_reads", "file_writes", "file_windows_read", "file_windows_written", "file_locks", "file_two_phase",
    "file_apart", "file_read_bytes", "file_write_bytes",
};
enum { COUNTERS = sizeof names / sizeof *names, FIRST_SUM = COUNTERS - 2 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS];
static number before[COUNTERS];

static void find_all(void)
{
    int provided, index, count;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    for (int i = 0; i < COUNTERS; i++) {
        int class = i < FIRST_SUM ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_AGGREGATE;
        OK(MPI_T_pvar_get_index(names[i], class, &index));
        OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count));
        int code = MPI_T_pvar_start(session, handles[i]);
        CHECK(code == MPI_SUCCESS || code == MPI_T_ERR_PVAR_NO_STARTSTOP);
    }
}

/* What `name` has counted since the last `mark`. */
static number since(const char *name)
{
    for (int i = 0; i < COUNTERS; i++) {
        number value = 0;
        if (strcmp(names[i], name)) continue;
        OK(MPI_T_pvar_read(session, handles[i], &value));
        return value - before[i];
    }
    CHECK(0, "no counter %s", name);
    return 0;
}

static void mark(void)
{
    for (int i = 0; i < COUNTERS; i++) OK(MPI_T_pvar_read(session, handles[i], &before[i]));
}

#define COUNTED(name, wanted) CHECK(since(name) == (number)(wanted), "%s: %llu", name, since(name))

/* Ten bytes of every fifteen, with a hint. */
static void view(MPI_File file, const char *hint, const char *value)
{
    MPI_Datatype ten, turn;
    MPI_Info info;
    OK(MPI_Type_contiguous(10, MPI_BYTE, &ten));
    OK(MPI_Type_create_resized(ten, 0, 15, &turn));
    OK(MPI_Type_commit(&turn));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, hint, value));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, turn, "native", info));
    OK(MPI_Info_free(&info));
    OK(MPI_Type_free(&ten));
    OK(MPI_Type_free(&turn));
}

static void by_itself(void)
{
    char own[300], data[1000] = {0};
    MPI_File file;
    snprintf(own, sizeof own, "%s-%d", name, rank);
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN;
    OK(MPI_File_open(MPI_COMM_SELF, own, amode, MPI_INFO_NULL, &file));
    mark();
    OK(MPI_File_write_at(file, 0, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    COUNTED("file_writes", 1);
    COUNTED("file_write_bytes", 1000);
    COUNTED("file_locks", 0);
    mark();
    /* 900 are there. */
    OK(MPI_File_read_at(file, 100, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    COUNTED("file_read_bytes", 900);
    COUNTED("file_writes", 0);
    view(file, "romio_ds_write", "enable");
    mark();
    OK(MPI_File_write_at(file, 0, data, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    COUNTED("file_windows_written", 1);
    COUNTED("file_locks", 1);
    COUNTED("file_reads", 1);
    COUNTED("file_writes", 1);
    COUNTED("file_write_bytes", 145);
    view(file, "romio_ds_read", "enable");
    mark();
    OK(MPI_File_read_at(file, 0, data, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    COUNTED("file_windows_read", 1);
    COUNTED("file_read_bytes", 145);
    view(file, "romio_ds_read", "disable");
    mark();
    OK(MPI_File_read_at(file, 0, data, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    COUNTED("file_windows_read", 0);
    COUNTED("file_reads", 10);
    COUNTED("file_read_bytes", 100);
    OK(MPI_File_close(&file));
}

static void collective(const char *wish, const char *counted)
{
    char data[100] = {0};
    MPI_File file;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", wish));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    OK(MPI_Info_free(&info));
    mark();
    OK(MPI_File_write_at_all(file, 100 * rank, data, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    COUNTED("file_two_phase", !strcmp(counted, "file_two_phase"));
    COUNTED("file_apart", !strcmp(counted, "file_apart"));
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin_file(&argc, &argv);
    find_all();
    by_itself();
    collective("enable", "file_two_phase");
    collective("disable", "file_apart");
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return finish();
}
