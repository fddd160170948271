// The info keys mpi_memory_alloc_kinds and mpi_assert_memory_alloc_kinds (MPI 5.0 section 11.4.3).
// ranks: 1 2
// mpiexec: -env TERN_MEMORY_ALLOC_KINDS system,mpi:alloc_mem,cuda:device
#include "file.h"

static const char *KINDS = "mpi_memory_alloc_kinds", *ASSERTED = "mpi_assert_memory_alloc_kinds";

/* Whether an object says so; "" for nothing. Frees its info. */
static int says(MPI_Info info, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL] = "";
    int room = sizeof value, flag;
    OK(MPI_Info_get_string(info, key, &room, value, &flag));
    OK(MPI_Info_free(&info));
    if (flag != (*expected != 0) || strcmp(value, expected) != 0) {
        printf("%s is \"%s\", expected \"%s\"\n", key, value, expected);
        return 0;
    }
    return 1;
}

static MPI_Info of_comm(MPI_Comm comm)
{
    MPI_Info info;
    OK(MPI_Comm_get_info(comm, &info));
    return info;
}

static MPI_Info with(const char *key, const char *value)
{
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    return info;
}

static void world(const char *kinds)
{
    MPI_Info info = with(ASSERTED, "system,mpi:alloc_mem"), wrong = with(ASSERTED, "rocm:device"), used;
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    void *base;
    OK(MPI_Info_set(info, KINDS, "none"));
    CHECK(says(of_comm(MPI_COMM_WORLD), KINDS, kinds));
    CHECK(says(of_comm(MPI_COMM_SELF), KINDS, kinds));
    /* What the library tells is not for the program to change. */
    OK(MPI_Comm_set_info(MPI_COMM_SELF, info));
    CHECK(says(of_comm(MPI_COMM_SELF), KINDS, kinds));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    CHECK(says(of_comm(comm), KINDS, kinds));
    CHECK(says(of_comm(comm), ASSERTED, "system,mpi:alloc_mem"));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, wrong, &comm));
    CHECK(says(of_comm(comm), ASSERTED, ""));
    OK(MPI_Comm_free(&comm));

    OK(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_get_info(win, &used));
    CHECK(says(used, KINDS, kinds));
    OK(MPI_Win_set_info(win, wrong));
    OK(MPI_Win_get_info(win, &used));
    CHECK(says(used, ASSERTED, "system,mpi:alloc_mem"));
    OK(MPI_Win_free(&win));

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    OK(MPI_File_get_info(file, &used));
    CHECK(says(used, KINDS, kinds));
    OK(MPI_File_get_info(file, &used));
    CHECK(says(used, ASSERTED, "system,mpi:alloc_mem"));
    OK(MPI_File_get_info(file, &used));
    CHECK(says(used, "collective_buffering", "true"));
    OK(MPI_File_get_info(file, &used));
    CHECK(says(used, "cb_buffer_size", "16777216"));
    OK(MPI_File_close(&file));
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&wrong));
}

/* A session that asks for `asked`, or nothing. */
static void session(const char *asked, const char *kinds)
{
    MPI_Info info = asked ? with(KINDS, asked) : MPI_INFO_NULL, used;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, copy;
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_info(session, &used));
    CHECK(says(used, KINDS, kinds));
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    OK(MPI_Comm_create_from_group(group, "memory", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK(says(of_comm(comm), KINDS, kinds));
    OK(MPI_Comm_dup(comm, &copy));
    CHECK(says(of_comm(copy), KINDS, kinds));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
    if (asked)
        OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    begin(&argc, &argv);
    OK(MPI_Comm_get_parent(&inter));
    if (inter != MPI_COMM_NULL) {
        CHECK(says(of_comm(MPI_COMM_WORLD), KINDS, "mpi,system,mpi:win_allocate"));
        OK(MPI_Comm_disconnect(&inter));
        return finish();
    }
    if (rank == 0)
        choose_name();
    OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
    world("mpi,system,mpi:alloc_mem");
    session(NULL, "mpi,system,mpi:alloc_mem");
    session("mpi,system,mpi:win_allocate_shared,cuda:device", "mpi,system,mpi:win_allocate_shared");
    session("", "mpi,system");
    MPI_Info info = with(KINDS, "mpi:win_allocate,system");
    OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Info_free(&info));
    return finish();
}
