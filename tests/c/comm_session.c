// Sessions: process sets, communicators from them, before, beside and after the world model.
// ranks: 1 2 4
#include "check.h"

static void use(int expected)
{
    MPI_Session session;
    MPI_Info info;
    MPI_Group group;
    MPI_Comm comm;
    int count, found = 0, n, flag;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    for (int i = 0; i < count; i++) {
        char name[MPI_MAX_PSET_NAME_LEN];
        int length = 0;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL));
        CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
        CHECK((int)strlen(name) == length - 1);
        found |= (strcmp(name, "mpi://WORLD") == 0) | (strcmp(name, "mpi://SELF") == 0) << 1;
    }
    CHECK(found == 3, "sets found: %d", found);
    char beyond[MPI_MAX_PSET_NAME_LEN];
    n = sizeof beyond;
    FAILS(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, count, &n, beyond));
    FAILS(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &n, NULL));

    char size_text[16];
    n = sizeof size_text;
    OK(MPI_Session_get_pset_info(session, "mpi://SELF", &info));
    OK(MPI_Info_get_string(info, "mpi_size", &n, size_text, &flag));
    CHECK(flag && strcmp(size_text, "1") == 0);
    OK(MPI_Info_free(&info));
    FAILS(MPI_ERR_ARG, MPI_Session_get_pset_info(session, "app://none", &info));

    // All live, where the job does not go on without those that are lost.
    MPI_Group living;
    CHECK(count == 2);
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_from_session_pset(session, "tern://living", &living));
    OK(MPI_Group_compare(group, living, &n));
    CHECK(n == MPI_IDENT);
    if (living != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&living));
    OK(MPI_Comm_create_from_group(group, "org.tern.session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    CHECK(expected == 0 || size == expected);
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size);
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_disconnect(&comm));
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
}

/* Nobody gets what the user has not asked for: the answer is true to fact. */
static void ask_for_survival(void)
{
    MPI_Session session;
    MPI_Info info, used;
    char answer[8];
    int length = sizeof answer, flag;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_ft", "true"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_info(session, &used));
    OK(MPI_Info_get_string(used, "mpi_ft", &length, answer, &flag));
    CHECK(flag && strcmp(answer, "false") == 0);
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    int flag;
    use(0);
    ask_for_survival();
    OK(MPI_Initialized(&flag));
    CHECK(!flag);
    begin(&argc, &argv);
    int n = size;
    use(n);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Finalize();
    OK(MPI_Finalized(&flag));
    CHECK(flag);
    use(n);
    return failures ? 1 : 0;
}
