// ranks: 1 2
// mpiexec: -x TERN_SPIN=3k
// Settings as control variables: read, written before MPI is initialised, and what comes of it.
#include "check.h"

static MPI_T_cvar_handle handle(const char *name)
{
    int index, count;
    MPI_T_cvar_handle found;
    OK(MPI_T_cvar_get_index(name, &index));
    OK(MPI_T_cvar_handle_alloc(index, NULL, &found, &count));
    return found;
}

static int scope(const char *name)
{
    int index, found;
    OK(MPI_T_cvar_get_index(name, &index));
    OK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &found));
    return found;
}

/* The item of a setting's enumeration with that name. */
static int item(const char *setting, const char *wanted)
{
    int index, n, value;
    char name[64];
    MPI_T_enum words;
    OK(MPI_T_cvar_get_index(setting, &index));
    OK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &words, NULL, NULL, NULL, NULL));
    OK(MPI_T_enum_get_info(words, &n, NULL, NULL));
    for (int i = 0; i < n; i++) {
        int length = sizeof name;
        OK(MPI_T_enum_get_item(words, i, &value, name, &length));
        if (!strcmp(name, wanted))
            return value;
    }
    CHECK(0, "%s has no %s", setting, wanted);
    return -1;
}

static unsigned long long counted(const char *name)
{
    static MPI_T_pvar_session session;
    static MPI_T_pvar_handle lines, asked;
    int index, count;
    unsigned long long value;
    if (!session) {
        OK(MPI_T_pvar_session_create(&session));
        OK(MPI_T_pvar_get_index("collective_lines", MPI_T_PVAR_CLASS_COUNTER, &index));
        OK(MPI_T_pvar_handle_alloc(session, index, NULL, &lines, &count));
        OK(MPI_T_pvar_get_index("sent_rendezvous", MPI_T_PVAR_CLASS_COUNTER, &index));
        OK(MPI_T_pvar_handle_alloc(session, index, NULL, &asked, &count));
        OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    }
    OK(MPI_T_pvar_read(session, strcmp(name, "sent_rendezvous") ? lines : asked, &value));
    return value;
}

int main(int argc, char **argv)
{
    int provided, value;
    char text[4096] = "", data[3000] = "";
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    counted("");
    MPI_T_cvar_handle spin = handle("TERN_SPIN"), lines = handle("TERN_COLL_LINES"), eager = handle("TERN_EAGER_LIMIT"),
                      log = handle("TERN_LOG"), grace = handle("TERN_GRACE");
    OK(MPI_T_cvar_read(spin, text));
    CHECK(!strcmp(text, "3k"), "%s", text);
    OK(MPI_T_cvar_write(spin, "200"));
    OK(MPI_T_cvar_read(spin, text));
    CHECK(!strcmp(text, "200"), "%s", text);
    FAILS(MPI_T_ERR_INVALID, MPI_T_cvar_write(spin, "many"));
    FAILS(MPI_T_ERR_INVALID, MPI_T_cvar_write(spin, NULL));
    OK(MPI_T_cvar_read(spin, text));
    CHECK(!strcmp(text, "200"), "%s", text);
    OK(MPI_T_cvar_read(lines, &value));
    CHECK(value == item("TERN_COLL_LINES", "on"), "%d", value);
    value = item("TERN_COLL_LINES", "off");
    OK(MPI_T_cvar_write(lines, &value));
    value = 2;
    FAILS(MPI_T_ERR_INVALID, MPI_T_cvar_write(lines, &value));
    value = -1;
    FAILS(MPI_T_ERR_INVALID, MPI_T_cvar_write(lines, &value));
    OK(MPI_T_cvar_write(eager, "1k"));
    FAILS(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(grace, "3s"));
    CHECK(scope("TERN_GRACE") == MPI_T_SCOPE_CONSTANT && scope("TERN_COLL_LINES") == MPI_T_SCOPE_ALL_EQ);
    CHECK(scope("TERN_EAGER_LIMIT") == MPI_T_SCOPE_LOCAL && scope("TERN_LOG") == MPI_T_SCOPE_LOCAL);

    begin(&argc, &argv);
    FAILS(MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_cvar_write(spin, "300"));
    FAILS(MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_cvar_write(lines, &value));
    FAILS(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(grace, "3s"));
    value = item("TERN_LOG", "error");
    OK(MPI_T_cvar_write(log, &value));
    value = -1;
    OK(MPI_T_cvar_read(log, &value));
    CHECK(value == item("TERN_LOG", "error"));
    /* It is as was written. */
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(counted("collective_lines") == 0, "%llu", counted("collective_lines"));
    if (size == 2) {
        if (rank == 0)
            OK(MPI_Send(data, sizeof data, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(counted("sent_rendezvous") == (rank == 0), "%llu", counted("sent_rendezvous"));
    }
    MPI_Finalize();
    FAILS(MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_cvar_write(spin, "300"));
    OK(MPI_T_finalize());
    return failures != 0;
}
