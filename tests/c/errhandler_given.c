// Calls that get the error handler of what they make: it takes their own errors too, before there is anything else that could.
// ranks: 1 2
#include "check.h"

static int calls;
static MPI_Comm told_comm;
static MPI_Session told_session;

static void of_comm(MPI_Comm *comm, int *code, ...)
{
    calls += *code != MPI_SUCCESS;
    told_comm = *comm;
}

static void of_session(MPI_Session *session, int *code, ...)
{
    calls += *code != MPI_SUCCESS;
    told_session = *session;
}

/* The call fails with this class, and calls the program's handler that often. */
#define TOLD(times, wanted, call) \
    do { \
        calls = 0; \
        FAILS(wanted, call); \
        CHECK(calls == (times), "%d calls: %s", calls, #call); \
    } while (0)

#ifdef OPEN_MPI
/* Its header has no name for the class. */
#define NO_HANDLER(times, call) \
    do { \
        calls = 0; \
        CHECK((call) != MPI_SUCCESS, "%s", #call); \
        CHECK(calls == (times), "%d calls: %s", calls, #call); \
    } while (0)
#else
#define NO_HANDLER(times, call) TOLD(times, MPI_ERR_ERRHANDLER, call)
#endif

static void communicators(MPI_Session session, MPI_Errhandler handler, int times)
{
    MPI_Group group, part;
    MPI_Comm comm = MPI_COMM_NULL;
    /* Longer than any header's MPI_MAX_STRINGTAG_LEN. */
    static char tag[5000];
    memset(tag, 'x', sizeof tag - 1);
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_rank(group, &rank));
    OK(MPI_Group_size(group, &size));
    TOLD(times, MPI_ERR_ARG, MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, handler, NULL));
    TOLD(times, MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, handler, &comm));
    TOLD(times, MPI_ERR_ARG, MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, handler, &comm));
    TOLD(times, MPI_ERR_ARG, MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, handler, &comm));
    TOLD(times, MPI_ERR_GROUP, MPI_Intercomm_create_from_groups(group, 0, MPI_GROUP_NULL, 0, "tag", MPI_INFO_NULL, handler, &comm));
    TOLD(times, MPI_ERR_GROUP, MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, group, 0, "tag", MPI_INFO_NULL, handler, &comm));
    TOLD(times, MPI_ERR_ARG, MPI_Intercomm_create_from_groups(group, 0, group, 0, "tag", MPI_INFO_NULL, handler, NULL));
    TOLD(times, MPI_ERR_ARG, MPI_Intercomm_create_from_groups(group, 0, group, 0, NULL, MPI_INFO_NULL, handler, &comm));
    TOLD(times, MPI_ERR_RANK, MPI_Intercomm_create_from_groups(group, size, group, 0, "tag", MPI_INFO_NULL, handler, &comm));
    if (size > 1) {
        OK(MPI_Group_excl(group, 1, &rank, &part));
        TOLD(times, MPI_ERR_GROUP, MPI_Comm_create_from_group(part, "tag", MPI_INFO_NULL, handler, &comm));
        CHECK(comm == MPI_COMM_NULL);
        OK(MPI_Group_free(&part));
    }
    CHECK(times == 0 || told_comm == MPI_COMM_NULL);

    /* The communicator has it, for later errors. */
    OK(MPI_Comm_create_from_group(group, "org.tern.given", MPI_INFO_NULL, handler, &comm));
    TOLD(times, MPI_ERR_RANK, MPI_Send(NULL, 0, MPI_INT, size, 0, comm));
    CHECK(times == 0 || told_comm == comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    MPI_Errhandler own, sessions;
    MPI_Session session, none = MPI_SESSION_NULL;
    MPI_Info info, freed;
    MPI_Group group;
    MPI_Comm comm;

    /* Before MPI is initialised nothing else but the end of the job is in charge. */
    OK(MPI_Session_create_errhandler(of_session, &sessions));
    TOLD(0, MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL));
    TOLD(1, MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, sessions, NULL));
    OK(MPI_Info_create(&info));
    freed = info;
    OK(MPI_Info_free(&info));
    TOLD(1, MPI_ERR_INFO, MPI_Session_init(freed, sessions, &none));
    CHECK(told_session == MPI_SESSION_NULL && none == MPI_SESSION_NULL);

    TOLD(0, MPI_ERR_OTHER, MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));

    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Comm_create_errhandler(of_comm, &own));
    communicators(session, MPI_ERRORS_RETURN, 0);
    communicators(session, own, 1);

    /* A handler that is none, or for other objects, is not called: that of MPI_COMM_SELF is in charge of the error. */
    begin(&argc, &argv);
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    NO_HANDLER(0, MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &comm));
    NO_HANDLER(0, MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, sessions, &comm));
    NO_HANDLER(0, MPI_Intercomm_create_from_groups(group, 0, group, 0, "tag", MPI_INFO_NULL, sessions, &comm));
    NO_HANDLER(0, MPI_Session_init(MPI_INFO_NULL, own, &none));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, own));
    NO_HANDLER(1, MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &comm));
    CHECK(told_comm == MPI_COMM_SELF);
    /* The given one is in charge, not that of MPI_COMM_SELF. */
    TOLD(0, MPI_ERR_ARG, MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    TOLD(0, MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL));
    OK(MPI_Group_free(&group));
    OK(MPI_Errhandler_free(&own));
    OK(MPI_Errhandler_free(&sessions));
    OK(MPI_Session_finalize(&session));
    return finish();
}
